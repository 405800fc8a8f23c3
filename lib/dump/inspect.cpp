#include "dump/inspect.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "dump/census.hpp"
#include "dump/facts.hpp"
#include "dump/text.hpp"

namespace drift {
namespace {

std::string padded_to(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

std::string tensor_table(const DumpFile& dump) {
  constexpr std::size_t most =
      200;  // dumps have a handful; a file of weights is no reason to flood a terminal
  std::vector<std::string> names, shapes;
  std::size_t name_width = 4, shape_width = 5;
  for (const TensorInfo& tensor : dump.tensors()) {
    if (names.size() == most) break;
    names.push_back(printable(tensor.name));
    shapes.push_back(shape_text(tensor.shape));
    name_width = std::max(name_width, names.back().size());
    shape_width = std::max(shape_width, shapes.back().size());
  }
  std::string out = "tensors: " + std::to_string(dump.tensors().size()) + "\n";
  for (std::size_t i = 0; i < names.size(); ++i) {
    const TensorInfo& tensor = dump.tensors()[i];
    out += "  " + padded_to(names[i], name_width) + "  " + padded_to(std::string(name(tensor.dtype)), 11) +
           "  " + padded_to(shapes[i], shape_width) + "  " + std::to_string(tensor.bytes) + " bytes at " +
           std::to_string(tensor.offset) + "\n";
  }
  if (dump.tensors().size() > most)
    out += "  ... and " + std::to_string(dump.tensors().size() - most) + " more\n";
  return out;
}

std::string counts(const Census& census) {
  return std::to_string(census.values) + " values: " + std::to_string(census.nan) + " NaN, " +
         std::to_string(census.plus) + " +inf or above 2^30, " + std::to_string(census.minus) + " -inf, " +
         std::to_string(census.masked) + " masks (finite below -2^30)";
}

std::string census_text(const DumpFile& dump, const TensorInfo& logits, std::int64_t real_vocab) {
  const std::int64_t padded_vocab = logits.shape.back();
  const LogitsCensus census = census_of(dump, logits, real_vocab);
  std::string out = "vocabulary: " + std::to_string(real_vocab) + " real, " + std::to_string(padded_vocab) +
                    " with padding\nnon-finite census of " + in_quotes(logits.name) + ":\n";
  out += "  real columns    " + counts(census.real) + "\n";
  if (census.real.first_row >= 0)
    out += "                  the first NaN or +inf is in row " + std::to_string(census.real.first_row) +
           ", column " + std::to_string(census.real.first_column) +
           " (an active row with one makes a run fail, exit 3)\n";
  if (real_vocab < padded_vocab)
    out += "  padded columns  " + counts(census.padded) + " (never looked at by run)\n";
  return out;
}

}  // namespace

std::string inspect_report(const DumpFile& dump, const RoleNames& names,
                           std::optional<std::int64_t> real_vocab, const Overridden& overridden) {
  std::string out = "file: " + dump.shown_path() + ", " + std::to_string(dump.bytes()) +
                    " bytes, header digest " + hex(dump.header_digest()) + "\n" + tensor_table(dump);
  out += dump.metadata().empty() ? "metadata: none\n" : "metadata:\n";
  for (const auto& [key, value] : dump.metadata())
    out += "  " + printable(key) + " = " + printable(value) + "\n";

  std::vector<std::string> why, warnings = dump.warnings(), refusals;
  std::optional<TensorInfo> logits;
  std::optional<Roles> roles;
  DumpFacts facts;
  const auto attempt = [&](auto&& step) {  // a refusal is a result here
    try {
      step();
    } catch (const Error& error) {
      if (std::find(refusals.begin(), refusals.end(), error.what()) == refusals.end())
        refusals.push_back(error.what());
    }
  };
  attempt([&] { roles = find_roles(dump, names); });
  if (!roles || roles->has_logits()) attempt([&] { logits = find_logits(dump, names); });
  attempt([&] {
    facts = read_facts(dump, overridden);
    if (roles) check_facts(dump, facts, *roles, overridden);
  });
  if (logits) {
    const std::int64_t padded = logits->shape.back();
    const std::int64_t real = real_vocab.value_or(facts.real_vocab_size.value_or(padded));
    out += census_text(dump, *logits, std::clamp<std::int64_t>(real, 1, padded));
  }
  if (roles) {
    why = roles->why;
    warnings.insert(warnings.end(), roles->warnings.begin(), roles->warnings.end());
    warnings.insert(warnings.end(), facts.warnings.begin(), facts.warnings.end());
  }
  for (const std::string& warning : warnings) out += "warning: " + warning + "\n";
  if (refusals.empty()) {
    out += "run would use:\n";
    for (const std::string& line : why) out += "  " + line + "\n";
    out += "  rows: " + std::to_string(roles->rows) + " (" + std::to_string(roles->batch) + " x " +
           std::to_string(roles->sequence) + ")\n";
  } else {
    out += "run would refuse this file:\n";
    for (const std::string& line : refusals) out += "  " + line + "\n";
  }
  return out;
}

}  // namespace drift
