#include "audit/console_header.hpp"

#include <charconv>

#include "audit/console_choice.hpp"
#include "audit/options.hpp"
#include "base/text_grid.hpp"

namespace drift {
namespace {

std::string text_of(const Value& value) {
  return std::visit(
      []<class T>(const T& held) -> std::string {
        if constexpr (std::is_same_v<T, bool>)
          return held ? "yes" : "no";
        else if constexpr (std::is_same_v<T, std::int64_t>)
          return std::to_string(held);
        else if constexpr (std::is_same_v<T, double>)
          return to_text(held);
        else if constexpr (std::is_same_v<T, std::string>)
          return held;
        else
          return std::to_string(held.size()) + " values";
      },
      value);
}

std::string value_of(const AggregateReport& report, const std::string& key) {
  for (const auto& [name, value] : report.case_values)
    if (name == key) return text_of(value);
  return "";
}

/// " (metadata)", "": where a value came from, if it was not the default.
std::string source_of(const AggregateReport& report, const std::string& key) {
  for (const auto& [name, source] : report.case_sources)
    if (name == key) return source == "default" ? "" : " (" + source + ")";
  return "";
}

std::string shape_of(const TensorReport& tensor) {
  std::string out = "[";
  for (const std::int64_t size : tensor.shape) out += (out.size() > 1 ? ", " : "") + std::to_string(size);
  return tensor.dtype + " " + out + "]";
}

std::string quoted(const std::string& name) { return '"' + name + '"'; }

std::string line(const std::string& word, const std::string& text) {
  return "# " + word + std::string(word.size() < 13 ? 13 - word.size() : 1, ' ') + text;
}

void input_lines(const AggregateReport& report, std::vector<std::string>& out) {
  if (!report.input) return;
  const InputReport& input = *report.input;
  if (input.logits)
    out.push_back(line("logits", quoted(input.logits->name) + " " + shape_of(*input.logits) +
                                     ", vocabulary " + grouped(input.real_vocab) +
                                     source_of(report, "real_vocab") + " of " + grouped(input.padded_vocab) +
                                     " columns, padding " + value_of(report, "padding")));
  else
    out.push_back(line("logits", "none: recorded tensors are compared with each other, there is no oracle"));
  std::string rows = grouped(input.rows) + ", " + grouped(input.active_rows) + " active (" +
                     (input.mask      ? "mask " + quoted(input.mask->name)
                      : input.targets ? "targets other than " + value_of(report, "ignore_index")
                                      : "no mask") +
                     ")" + (input.targets ? ", targets " + quoted(input.targets->name) : "");
  if (input.masked_values > 0)
    rows += ", " + plural(input.masked_values, "finite value counts", "finite values count") + " as -inf";
  if (input.rounded_values > 0)
    rows += ", " + counted(input.rounded_values, "F64 value") + " rounded to fp32";
  if (input.nonfinite_inactive > 0)
    rows += ", " + counted(input.nonfinite_inactive, "inactive row") + " not finite";
  out.push_back(line("rows", rows));
  if (!input.kept) return;
  std::string kept = input.kept->from + ": log-probs over " + grouped(input.kept->fewest) + " to " +
                     grouped(input.kept->most) + " kept columns a row";
  if (input.kept->boundary_rows > 0)
    kept +=
        "; in " + counted(input.kept->boundary_rows, "row") + " fp32 rounding could move the top-p boundary";
  out.push_back(line("kept set", kept));
}

void temperature_line(const AggregateReport& report, std::vector<std::string>& out) {
  if (report.input && !report.input->logits) return;
  std::string text =
      report.input && report.input->temperature
          ? quoted(report.input->temperature->name) + " " + shape_of(*report.input->temperature)
          : value_of(report, "temperature") + source_of(report, "temperature");
  text += ", candidates divide " + value_of(report, "temperature_order");
  if (const std::string dtype = value_of(report, "candidate_dtype"); dtype != "stored")
    text += ", logits rounded to " + dtype + " first";
  out.push_back(line("temperature", text));
}

void machine_lines(const AggregateReport& report, std::vector<std::string>& out) {
  if (report.topology)
    out.push_back(line("topology", "tp " + std::to_string(report.topology->tp) + " x cp " +
                                       std::to_string(report.topology->cp) + " " +
                                       report.topology->cp_layout + ", " +
                                       counted(report.topology->world, "rank")));
  if (report.candidates && !report.candidates->empty()) {
    const CandidateReport& first = report.candidates->front();
    const std::string merged = first.transport_actual == "solo"
                                   ? "one shard a row, nothing to merge"
                                   : "shards merged over " + first.transport_actual;
    out.push_back(line("ran on", first.backend_actual + " (asked for " + first.backend_requested + "), " +
                                     merged + " (asked for " + first.transport_requested + ")"));
  }
  if (!report.oracle) return;
  const OracleReport& oracle = *report.oracle;
  std::string text = oracle.implementation + " on " + oracle.backend;
  if (oracle.certified_rows == 0)
    text += ", not certified";
  else
    text += ", certified in fp64 on " + counted(oracle.certified_rows, "row") + ": at worst " +
            short_number(oracle.lse_worst) + " (lse) and " + short_number(oracle.logp_worst) +
            " (logp) of its error bound";
  out.push_back(line("oracle", text));
}

}  // namespace

std::string exact_number(float value) {
  char buffer[32];
  const auto [end, error] = std::to_chars(std::begin(buffer), std::end(buffer), value);
  return std::string(buffer, end);
}

std::vector<std::string> console_header(const AggregateReport& report) {
  std::vector<std::string> out;
  const auto& versions = report.environment.versions;
  const auto version = versions.find("drift_audit");
  out.emplace_back("# drift-audit");
  if (version != versions.end()) out.back().append(" ").append(version->second);
  out.push_back(line("dump", value_of(report, "dump")));
  input_lines(report, out);
  temperature_line(report, out);
  machine_lines(report, out);
  if (!report.environment.differing_ranks.empty()) {
    std::string ranks = report.environment.differing_ranks.size() == 1 ? "rank" : "ranks";
    for (const int rank : report.environment.differing_ranks) ranks.append(" ").append(std::to_string(rank));
    out.push_back("# warning      builds or environments differ from rank 0's on " + ranks);
  }
  if (report.rejected)
    for (const auto& [formula, reason] : *report.rejected)
      out.push_back(line("rejected", formula + ": " + reason));
  return out;
}

}  // namespace drift
