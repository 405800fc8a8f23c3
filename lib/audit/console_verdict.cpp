// The verdict line: all that `-q` prints, so it names what failed.

#include "audit/console_gates.hpp"
#include "audit/console_table.hpp"
#include "base/printable.hpp"
#include "base/text_grid.hpp"

namespace drift {
namespace {

using Parts = std::vector<std::string>;

/// "1 of 2 formulas over their limits (megatron-unfused logp)"; says whether that is a failure.
std::string formulas_text(const AggregateReport& report, bool& failed) {
  std::int64_t over = 0, within = 0, without_rows = 0;
  std::string quantities;
  for (const CandidateReport& candidate : *report.candidates) {
    bool passed = true;
    for (const char* quantity : {"lse", "logp"}) {
      const GateReport* limit = limit_of(report, candidate.formula, quantity);
      if (limit == nullptr || limit->passed) continue;
      passed = false;
      quantities += (quantities.empty() ? "" : ", ") + candidate.formula + " " + quantity;
    }
    over += !passed;
    within += passed && candidate.replicated;
    without_rows += candidate.logp.drift.count == 0;
  }
  failed = over > 0;
  const auto all = static_cast<std::int64_t>(report.candidates->size());
  if (without_rows == all && !failed) return "no active row could be compared";
  const std::string of = " of " + grouped(all) + " formulas ";
  return failed ? grouped(over) + of + "over their limits (" + quantities + ")"
                : grouped(within) + of + "within limits";
}

Parts failed_gates(const AggregateReport& report) {
  constexpr std::size_t shown = 3;
  Parts out;
  std::size_t failed = 0;
  for (const GateReport* gate : expressions(report))
    if (!gate->passed && ++failed <= shown)
      out.push_back("gate '" + gate->name + "' failed (seen " + distinct_number(gate->value, gate->limit) +
                    (gate->rows_over > 0 ? ", " + counted(gate->rows_over, "row") + " not finite)" : ")"));
  if (failed > shown) out.push_back("and " + counted(static_cast<std::int64_t>(failed - shown), "more gate"));
  return out;
}

Parts recorded_texts(const AggregateReport& report) {
  Parts out;
  for (std::size_t i = 0; i < report.recorded->size(); ++i)
    for (const auto& [reference, compared] : (*report.recorded)[i].vs) {
      if (reference != "oracle") continue;
      const Drift& drift = compared.drift;
      out.push_back((*report.recorded)[i].name +
                    (drift.count == 0 ? " compared in no row" : " max_abs " + short_number(drift.max_abs)));
      if (drift.nonfinite > 0) out.back() += ", " + grouped(drift.nonfinite) + " not finite";
      out.back() += gated(report, i, reference) == Gated::no ? " (not gated)" : " (gated)";
    }
  return out;
}

/// Pairs are the whole verdict where there is nothing else to compare with.
Parts pair_texts(const AggregateReport& report) {
  constexpr std::size_t shown = 3;
  Parts out;
  const bool alone = !report.oracle;
  for (std::size_t i = 0; i < report.pairs->size(); ++i) {
    const PairReport& pair = (*report.pairs)[i];
    const Gated gate = gated_pair(report, i);
    if (!pair.permuted && !alone && gate == Gated::no) continue;
    if (out.size() == shown) {
      out.emplace_back("and more pairs");
      break;
    }
    const Drift& drift = pair.compared.drift;
    out.push_back(pair.a + " vs " + pair.b +
                  (drift.count == 0 ? " compared in no row" : " max_abs " + short_number(drift.max_abs)));
    if (drift.nonfinite > 0) out.back() += ", " + grouped(drift.nonfinite) + " not finite";
    if (pair.permuted) out.back() += ", the same values in another order";
    out.back() += gate == Gated::no ? " (not gated)" : " (gated)";
  }
  return out;
}

/// What was found, what failed first.
std::string found_text(const AggregateReport& report) {
  Parts parts;
  if (report.gates) parts = failed_gates(report);
  if (report.candidates) {
    bool failed = false;
    const std::string formulas = formulas_text(report, failed);
    parts.insert(failed ? parts.begin() : parts.end(), formulas);
  }
  if (report.recorded)
    for (std::string& text : recorded_texts(report)) parts.push_back(std::move(text));
  if (report.pairs)
    for (std::string& text : pair_texts(report)) parts.push_back(std::move(text));
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out;
}

}  // namespace

std::string verdict_line(const AggregateReport& report, const std::string& folder) {
  std::string out = report.status == "pass" ? "PASS" : report.status == "drift" ? "DRIFT" : "FAILED";
  if (report.error)
    out += ": exit " + std::to_string(report.exit_code) + " (" + report.error->fault + ") on rank " +
           std::to_string(report.error->rank) + " in " + report.error->phase + ": " + report.error->message;
  else if (report.status == "failed")
    out += ": exit " + std::to_string(report.exit_code);
  if (const std::string found = found_text(report); !found.empty())
    out += (report.status == "failed" ? "; " : ": ") + found;
  if (report.candidates && report.scope == "self-check")
    out += "; self-check only: nothing that your system computed was compared";
  if (report.pairs && report.status != "failed" && !report.oracle)
    out += "; pairs only: the dump has no logits, so nothing was computed independently";
  return escaped(out + (folder.empty() ? "; no report could be written" : "; reports in " + folder));
}

}  // namespace drift
