#include "dump/facts.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <tuple>

#include "base/error.hpp"
#include "dump/text.hpp"

namespace drift {
namespace {

/// Reads one key at a time; what is there but not understood is refused, never skipped.
class Reader {
 public:
  explicit Reader(const DumpFile& dump) : dump_(dump) {}

  std::optional<std::int64_t> whole(const std::string& key, std::int64_t least) const {
    return number<std::int64_t>(key, "a whole number of at least " + std::to_string(least),
                                [&](std::int64_t value) { return value >= least; });
  }
  std::optional<double> real(const std::string& key, const std::string& wanted, bool (*good)(double)) const {
    return number<double>(key, wanted, good);
  }
  std::optional<std::string> text(const std::string& key) const {
    const auto at = dump_.metadata().find(key);
    return at == dump_.metadata().end() ? std::nullopt : std::optional(at->second);
  }
  [[noreturn]] void refuse(const std::string& key, const std::string& why) const {
    throw Error(Fault::input, dump_.path() + ": __metadata__ " + in_quotes(key) + ": " + why);
  }

 private:
  template <class Number, class Good>
  std::optional<Number> number(const std::string& key, const std::string& wanted, Good good) const {
    const auto seen = text(key);
    if (!seen) return std::nullopt;
    Number value{};
    const char* end = seen->data() + seen->size();
    const auto [stop, error] = std::from_chars(seen->data(), end, value);
    if (error != std::errc{} || stop != end || !good(value))
      refuse(key, "seen " + in_quotes(*seen) + ", wanted " + wanted);
    return value;
  }

  const DumpFile& dump_;
};

bool finite(double value) { return std::isfinite(value); }

/// Samplers that keep only some tokens renormalise over those: another log-prob than the full vocabulary's.
void refuse_truncation(const Reader& read) {
  const auto why = [](const std::string& text) {
    return text +
           " means sampling from part of the vocabulary, which cannot be audited yet (the LSE would run over "
           "tokens that were removed)";
  };
  if (const auto k = read.whole("top_k", -1); k && *k > 0) read.refuse("top_k", why(std::to_string(*k)));
  const auto must_be = [&](const char* key, double neutral) {
    const auto value = read.real(key, "a number", finite);
    if (value && *value != neutral) read.refuse(key, why(*read.text(key)));
  };
  must_be("top_p", 1);
  must_be("min_p", 0);
}

}  // namespace

DumpFacts read_facts(const DumpFile& dump) {
  const Reader read(dump);
  DumpFacts facts;
  facts.temperature =
      read.real("temperature", "a finite number above 0", [](double t) { return std::isfinite(t) && t > 0; });
  facts.real_vocab_size = read.whole("real_vocab_size", 1);
  facts.padded_vocab_size = read.whole("padded_vocab_size", 1);
  facts.ignore_index = read.whole("ignore_index", INT64_MIN);
  facts.cp_layout = read.text("cp_layout");
  if (facts.cp_layout && *facts.cp_layout != "contiguous" && *facts.cp_layout != "zigzag")
    read.refuse("cp_layout", "seen " + in_quotes(*facts.cp_layout) + ", wanted contiguous or zigzag");
  facts.tp_size = read.whole("tp_size", 1);
  facts.tp_rank = read.whole("tp_rank", 0);
  facts.cp_size = read.whole("cp_size", 1);
  facts.cp_rank = read.whole("cp_rank", 0);
  for (const auto& [axis, rank, size] :
       {std::tuple("tp", facts.tp_rank, facts.tp_size), std::tuple("cp", facts.cp_rank, facts.cp_size)}) {
    if (rank && size && *rank >= *size)
      read.refuse(std::string(axis) + "_rank", "seen " + std::to_string(*rank) + ", wanted below " + axis +
                                                   "_size " + std::to_string(*size));
    if (rank && size && *size > 1)
      facts.warnings.push_back("__metadata__ says " + std::string(axis) + " rank " + std::to_string(*rank) +
                               " of " + std::to_string(*size) +
                               ": this file is audited as if it held every " +
                               (axis == std::string("tp") ? "column of the vocabulary" : "row") +
                               "; if it is one rank's shard, the numbers are not the model's");
  }
  if (facts.real_vocab_size && facts.padded_vocab_size && *facts.real_vocab_size > *facts.padded_vocab_size)
    read.refuse("real_vocab_size", "seen " + std::to_string(*facts.real_vocab_size) +
                                       ", wanted at most padded_vocab_size " +
                                       std::to_string(*facts.padded_vocab_size));
  refuse_truncation(read);
  return facts;
}

void check_facts(const DumpFile& dump, const DumpFacts& facts, const Roles& roles) {
  const Reader read(dump);
  const std::string last = "the last dimension of logits " + describe(roles.logits);
  if (facts.padded_vocab_size && *facts.padded_vocab_size != roles.padded_vocab)
    read.refuse("padded_vocab_size", "seen " + std::to_string(*facts.padded_vocab_size) + ", wanted " +
                                         std::to_string(roles.padded_vocab) + ", " + last +
                                         " (is this one rank's shard?)");
  if (facts.real_vocab_size && *facts.real_vocab_size > roles.padded_vocab)
    read.refuse("real_vocab_size", "seen " + std::to_string(*facts.real_vocab_size) + ", wanted at most " +
                                       std::to_string(roles.padded_vocab) + ", " + last);
  const auto first = read.whole("vocab_start", 0), end = read.whole("vocab_end", 0);
  if ((first && *first != 0) || (end && *end < facts.real_vocab_size.value_or(roles.padded_vocab)))
    read.refuse(first && *first != 0 ? "vocab_start" : "vocab_end",
                "this file holds one shard of the vocabulary, which cannot be audited yet (its LSE is not "
                "the row's)");
}

}  // namespace drift
