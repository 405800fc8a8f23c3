// The verdict line: all that `-q` prints, so it names what failed.

#include "audit/console_choice.hpp"
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
  constexpr std::size_t shown = 2;
  Parts out;
  std::size_t failed = 0;
  for (const GateReport* gate : expressions(report))
    if (!gate->passed && ++failed <= shown)
      out.push_back("gate '" + gate->name + "' failed (seen " + distinct_number(gate->value, gate->limit) +
                    (gate->rows_over > 0 ? ", " + counted(gate->rows_over, "row") + " not finite)" : ")"));
  if (failed > shown) out.push_back("and " + counted(static_cast<std::int64_t>(failed - shown), "more gate"));
  return out;
}

/// "rollout max_abs 0.25, 2 not finite (not gated)"
std::string comparison_text(const std::string& name, const Drift& drift, const std::string& remark,
                            Gated gate) {
  std::string out =
      name + (drift.count == 0 ? " compared in no row" : " max_abs " + short_number(drift.max_abs));
  if (drift.nonfinite > 0) out += ", " + grouped(drift.nonfinite) + " not finite";
  return out + remark + (gate == Gated::no ? " (not gated)" : " (gated)");
}

std::string with_others(const std::string& worst, std::size_t others, const std::string& noun) {
  return others == 0 ? worst : worst + " and " + counted(static_cast<std::int64_t>(others), "more " + noun);
}

/// The worst recorded tensor against the oracle, and how many more there are.
Parts recorded_texts(const AggregateReport& report) {
  const ShortNames shown(report);
  std::size_t compared_tensors = 0;
  std::string worst;
  for (const Spot& spot : worst_recorded(report)) {
    const RecordedReport& recorded = (*report.recorded)[spot.recorded];
    const auto& [reference, compared] = recorded.vs[spot.vs];
    if (reference != "oracle" || ++compared_tensors > 1) continue;
    worst =
        comparison_text(shown(recorded.name), compared.drift, "", gated(report, spot.recorded, reference));
  }
  if (compared_tensors == 0) return {};
  return {with_others(worst, compared_tensors - 1, "recorded tensor")};
}

/// The worst pair. Pairs are the whole verdict where there is nothing else to compare with; else only those
/// that are gated or permuted count.
Parts pair_texts(const AggregateReport& report) {
  const ShortNames shown(report);
  std::size_t found = 0;
  std::string worst;
  for (const std::size_t i : worst_pairs(report)) {
    const PairReport& pair = (*report.pairs)[i];
    const Gated gate = gated_pair(report, i);
    if ((report.oracle && !pair.permuted && gate == Gated::no) || ++found > 1) continue;
    worst = comparison_text(shown.pair(pair), pair.compared.drift,
                            pair.permuted ? ", the same values in another order" : "", gate);
  }
  if (found == 0) return {};
  return {with_others(worst, found - 1, "pair")};
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
    out += "; pairs only: no logits, so no oracle";
  return escaped(out + (folder.empty() ? "; no report could be written" : "; reports in " + folder));
}

}  // namespace drift
