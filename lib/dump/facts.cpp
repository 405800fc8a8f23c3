#include "dump/facts.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "dump/text.hpp"

namespace drift {
namespace {

/// Reads one key at a time; what is there but not understood is refused, never skipped.
class Reader {
 public:
  explicit Reader(const DumpFile& dump) : dump_(dump) {}

  /// Of a key that has two spellings, which must not contradict each other.
  std::optional<std::int64_t> whole(const std::string& key, const std::string& synonym,
                                    std::int64_t least) const {
    const auto first = whole(key, least), second = whole(synonym, least);
    if (first && second && *first != *second)
      refuse(synonym, "seen " + std::to_string(*second) + ", but " + key + " says " + std::to_string(*first) +
                          " (they mean the same, and one of them is wrong)");
    return first ? first : second;
  }
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
    throw Error(Fault::input, dump_.shown_path() + ": __metadata__ " + in_quotes(key) + ": " + why);
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

/// vLLM's names of the two modes, and short forms.
std::optional<std::string> logprob_mode(const Reader& read) {
  const auto first = read.text("logprob_mode"), second = read.text("logprobs_mode");
  if (first && second && *first != *second)
    read.refuse("logprobs_mode", "seen " + in_quotes(*second) + ", but logprob_mode says " +
                                     in_quotes(*first) + " (they mean the same, and one of them is wrong)");
  const auto mode = first ? first : second;
  if (!mode) return std::nullopt;
  if (*mode == "raw" || *mode == "raw_logprobs") return "raw";
  if (*mode == "processed" || *mode == "processed_logprobs") return "processed";
  read.refuse("logprob_mode",
              "seen " + in_quotes(*mode) + ", wanted raw, processed, raw_logprobs or processed_logprobs");
}

/// Runs a step about a key; what it refuses is only worth a warning where the key's value is not used.
auto unless_overridden(DumpFacts& facts, const Overridden& overridden) {
  return [&](const std::string& key, auto&& step) {
    try {
      step();
    } catch (const Error& error) {
      if (!overridden.contains(key)) throw;
      facts.warnings.push_back(std::string(error.what()) + "; not used, the command line says another");
    }
  };
}

/// What others write there is the real size, or the padded one, so it is not taken for either.
void warn_of_vocab_size(const Reader& read, DumpFacts& facts) {
  const auto seen = read.text("vocab_size");
  if (!seen || (facts.real_vocab_size && *seen == std::to_string(*facts.real_vocab_size))) return;
  facts.warnings.push_back("__metadata__ \"vocab_size\" " + in_quotes(*seen) +
                           " is not used (it may count padded columns or not): real_vocab_size and "
                           "padded_vocab_size are read");
}

}  // namespace

DumpFacts read_facts(const DumpFile& dump, const Overridden& overridden) {
  const Reader read(dump);
  DumpFacts facts;
  const auto unless = unless_overridden(facts, overridden);
  unless("temperature", [&] {
    facts.temperature = read.real("temperature", "a finite number above 0",
                                  [](double t) { return std::isfinite(t) && t > 0; });
  });
  facts.padded_vocab_size = read.whole("padded_vocab_size", "padded_vocab", 1);
  unless("real_vocab_size", [&] {
    const auto real = read.whole("real_vocab_size", "real_vocab", 1);
    if (real && facts.padded_vocab_size && *real > *facts.padded_vocab_size)
      read.refuse("real_vocab_size", "seen " + std::to_string(*real) + ", wanted at most padded_vocab_size " +
                                         std::to_string(*facts.padded_vocab_size));
    facts.real_vocab_size = real;
  });
  warn_of_vocab_size(read, facts);
  unless("ignore_index", [&] { facts.ignore_index = read.whole("ignore_index", INT64_MIN); });
  unless("cp_layout", [&] {
    const auto layout = read.text("cp_layout");
    if (layout && *layout != "contiguous" && *layout != "zigzag")
      read.refuse("cp_layout", "seen " + in_quotes(*layout) + ", wanted contiguous or zigzag");
    facts.cp_layout = layout;
  });
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
  unless("top_k", [&] { facts.top_k = read.whole("top_k", -1); });
  unless("top_p", [&] {
    facts.top_p =
        read.real("top_p", "a number above 0 and at most 1", [](double p) { return p > 0 && p <= 1; });
  });
  unless("min_p", [&] {
    facts.min_p = read.real("min_p", "a number from 0 to below 1", [](double p) { return p >= 0 && p < 1; });
  });
  facts.logprob_mode = logprob_mode(read);
  return facts;
}

void check_facts(const DumpFile& dump, DumpFacts& facts, const Roles& roles, const Overridden& overridden) {
  if (!roles.has_logits()) return;
  const Reader read(dump);
  const std::string last = "the last dimension of logits " + describe(roles.logits);
  if (facts.padded_vocab_size && *facts.padded_vocab_size != roles.padded_vocab)
    read.refuse("padded_vocab_size", "seen " + std::to_string(*facts.padded_vocab_size) + ", wanted " +
                                         std::to_string(roles.padded_vocab) + ", " + last +
                                         " (is this one rank's shard?)");
  unless_overridden(facts, overridden)("real_vocab_size", [&] {
    const auto real = std::exchange(facts.real_vocab_size, std::nullopt);
    if (real && *real > roles.padded_vocab)
      read.refuse("real_vocab_size", "seen " + std::to_string(*real) + ", wanted at most " +
                                         std::to_string(roles.padded_vocab) + ", " + last);
    facts.real_vocab_size = real;
  });
  const auto first = read.whole("vocab_start", 0), end = read.whole("vocab_end", 0);
  if ((first && *first != 0) || (end && *end < facts.real_vocab_size.value_or(roles.padded_vocab)))
    read.refuse(first && *first != 0 ? "vocab_start" : "vocab_end",
                "this file holds one shard of the vocabulary, which cannot be audited yet (its LSE is not "
                "the row's)");
}

}  // namespace drift
