#include "audit/console_table.hpp"

#include "audit/console_gates.hpp"
#include "audit/console_header.hpp"
#include "audit/console_pairs.hpp"
#include "base/printable.hpp"
#include "base/text_grid.hpp"

namespace drift {
namespace {

using Row = std::vector<std::string>;

const Row heading{"# nats", "", "max_abs", "mean_abs", "p99", "max_ulp", "differ", "of", "limit", "verdict"};

Row numbers(const std::string& what, const std::string& quantity, const Drift& drift,
            const std::string& limit, std::string verdict) {
  if (drift.nonfinite > 0) verdict += ", " + grouped(drift.nonfinite) + " not finite";
  if (drift.count == 0) return {what, quantity, "-", "-", "-", "-", "-", "0", "", verdict};
  return {what,
          quantity,
          short_number(drift.max_abs),
          short_number(drift.mean_abs),
          short_number(drift.p99),
          grouped(drift.max_ulp),
          grouped(drift.mismatch_count),
          grouped(drift.count),
          limit,
          verdict};
}

Row candidate_row(const AggregateReport& report, const CandidateReport& candidate,
                  const std::string& quantity, const Drift& drift) {
  const GateReport* limit = limit_of(report, candidate.formula, quantity);
  std::string verdict = drift.count == 0   ? "no rows"
                        : limit == nullptr ? "not gated"
                        : limit->passed    ? "pass"
                                           : "DRIFT";
  if (limit != nullptr && limit->rows_over > 0) verdict += " in " + counted(limit->rows_over, "row");
  if (!candidate.replicated) verdict += ", REPLICAS DIFFER";
  return numbers(candidate.formula, quantity, drift, limit == nullptr ? "" : short_number(limit->limit),
                 verdict);
}

Row recorded_row(const AggregateReport& report, std::size_t index, const std::string& reference,
                 const Drift& drift) {
  const Gated gate = gated(report, index, reference);
  std::string verdict = gate == Gated::no ? "not gated" : gate == Gated::passed ? "pass" : "DRIFT";
  if (drift.count == 0) verdict = "no rows, " + verdict;
  const RecordedReport& recorded = (*report.recorded)[index];
  return numbers(recorded.name + " vs " + reference, recorded.kind, drift, "", verdict);
}

Row pair_row(const AggregateReport& report, std::size_t index) {
  const PairReport& pair = (*report.pairs)[index];
  const Gated gate = gated_pair(report, index);
  std::string verdict = gate == Gated::no ? "not gated" : gate == Gated::passed ? "pass" : "DRIFT";
  if (pair.compared.drift.count == 0) verdict = "no rows, " + verdict;
  if (pair.permuted) verdict += ", PERMUTED: the same values in another order";
  return numbers(pair.a + " vs " + pair.b, pair.kind, pair.compared.drift, "", verdict);
}

std::vector<std::string> number_lines(const AggregateReport& report) {
  std::vector<Row> rows{heading};
  if (report.candidates)
    for (const CandidateReport& candidate : *report.candidates) {
      rows.push_back(candidate_row(report, candidate, "lse", candidate.lse.drift));
      rows.push_back(candidate_row(report, candidate, "logp", candidate.logp.drift));
      if (candidate.input_rounding_lse)
        rows.push_back(numbers("  input rounding", "lse", *candidate.input_rounding_lse, "", "not gated"));
      if (candidate.input_rounding_logp)
        rows.push_back(numbers("  input rounding", "logp", *candidate.input_rounding_logp, "", "not gated"));
    }
  if (report.recorded)
    for (std::size_t i = 0; i < report.recorded->size(); ++i)
      for (const auto& [reference, compared] : (*report.recorded)[i].vs)
        rows.push_back(recorded_row(report, i, reference, compared.drift));
  if (report.pairs)
    for (std::size_t i = 0; i < report.pairs->size(); ++i) rows.push_back(pair_row(report, i));
  return rows.size() > 1 ? aligned(rows, 2) : std::vector<std::string>{};
}

std::vector<std::string> gate_lines(const AggregateReport& report) {
  std::vector<Row> rows;
  for (const GateReport* gate : expressions(report)) {
    const std::string verdict = gate->passed ? "pass"
                                : gate->rows_over > 0
                                    ? "DRIFT, " + counted(gate->rows_over, "row") + " not finite"
                                    : "DRIFT";
    rows.push_back({"gate", gate->name, "seen " + distinct_number(gate->value, gate->limit), verdict});
  }
  return aligned(rows, 4);
}

std::string position_text(const std::vector<std::int64_t>& position) {
  std::string out = "[";
  for (const std::int64_t index : position)
    out.append(out.size() > 1 ? "," : "").append(std::to_string(index));
  return out.append("]");
}

std::vector<std::string> worst_lines(const std::string& title, const Compared& compared,
                                     const std::string& candidate, const std::string& reference) {
  constexpr std::size_t shown = 3;
  std::vector<Row> rows{
      {"#", "row", "position", "target", "owner", candidate, reference, "difference", "ulp"}};
  for (const Token& token : compared.worst) {
    if (rows.size() > shown || token.candidate == token.reference) break;
    rows.push_back({"", std::to_string(token.row), position_text(token.position),
                    token.target ? std::to_string(*token.target) : "-",
                    token.owner_tp_rank ? "tp " + std::to_string(*token.owner_tp_rank) : "-",
                    exact_number(token.candidate), exact_number(token.reference),
                    short_number(static_cast<double>(token.candidate) - static_cast<double>(token.reference)),
                    grouped(ulp_distance(token.candidate, token.reference))});
  }
  if (rows.size() == 1) return {};
  std::vector<std::string> out{"#", "# worst of " + title};
  for (std::string& line : aligned(rows, 1)) out.push_back(std::move(line));
  return out;
}

/// The user's own numbers first, against the oracle and wherever a --gate failed; a candidate's only where it
/// drifted.
std::vector<std::string> all_worst_lines(const AggregateReport& report) {
  std::vector<std::string> out;
  const auto append = [&](std::vector<std::string> lines) {
    out.insert(out.end(), lines.begin(), lines.end());
  };
  if (report.recorded)
    for (std::size_t i = 0; i < report.recorded->size(); ++i)
      for (const auto& [reference, compared] : (*report.recorded)[i].vs)
        if (reference == "oracle" || gated(report, i, reference) == Gated::failed)
          append(
              worst_lines((*report.recorded)[i].name + " vs " + reference, compared, "recorded", reference));
  if (report.pairs)
    for (std::size_t i = 0; i < report.pairs->size(); ++i) {
      const PairReport& pair = (*report.pairs)[i];
      if (!report.oracle || gated_pair(report, i) == Gated::failed)
        append(worst_lines(pair.a + " vs " + pair.b, pair.compared, "a", "b"));
    }
  if (report.candidates)
    for (const CandidateReport& candidate : *report.candidates)
      for (const auto& [quantity, compared] :
           {std::pair<std::string, const Compared*>{"lse", &candidate.lse}, {"logp", &candidate.logp}}) {
        const GateReport* limit = limit_of(report, candidate.formula, quantity);
        if (limit != nullptr && !limit->passed)
          append(worst_lines(candidate.formula + " " + quantity, *compared, "candidate", "oracle"));
      }
  return out;
}

/// [b, s] or [t] of a row of logits of that shape.
std::vector<std::int64_t> position_of(const InputReport& input, std::int64_t row) {
  const std::vector<std::int64_t> shape = input.logits ? input.logits->shape : std::vector<std::int64_t>{};
  if (shape.size() == 3 && shape[1] > 0) return {row / shape[1], row % shape[1]};
  return {row};
}

/// Recorded values that are not finite have no worst token: say where they can be seen.
std::vector<std::string> lost_lines(const AggregateReport& report) {
  std::vector<std::string> out;
  if (!report.recorded || !report.input) return out;
  for (const RecordedReport& recorded : *report.recorded)
    for (const auto& [reference, compared] : recorded.vs) {
      const std::int64_t lost = compared.drift.nonfinite - report.input->nonfinite_active;
      if (reference != "oracle" || lost <= 0) continue;
      if (out.empty()) out.emplace_back("#");
      out.push_back("# " + counted(lost, "value") + " of " + recorded.name + (lost == 1 ? " is" : " are") +
                    " not finite: left out of its numbers, see its column in tokens.safetensors");
    }
  return out;
}

std::vector<std::string> nonfinite_lines(const AggregateReport& report) {
  if (!report.input || report.input->nonfinite.empty()) return {};
  const bool one = report.input->nonfinite_active == 1;
  std::vector<std::string> out{"#", "# " + counted(report.input->nonfinite_active, "active row") +
                                        (one ? " holds" : " hold") +
                                        " what has no log-prob; left out of every number above"};
  for (const NonfiniteRow& row : report.input->nonfinite)
    out.push_back("nonfinite  row " + std::to_string(row.row) + "  position " +
                  position_text(position_of(*report.input, row.row)) +
                  (row.column < 0 ? "" : "  column " + std::to_string(row.column)) +
                  (row.owner_tp_rank < 0 ? "" : "  owner tp " + std::to_string(row.owner_tp_rank)) + "  " +
                  row.kind);
  const auto listed = static_cast<std::int64_t>(report.input->nonfinite.size());
  if (listed < report.input->nonfinite_active)
    out.push_back("nonfinite  ... and " + grouped(report.input->nonfinite_active - listed) + " more");
  return out;
}

}  // namespace

std::vector<std::string> console_table(const AggregateReport& report, const std::string& folder,
                                       std::span<const std::string> warnings,
                                       std::span<const std::string> strata) {
  std::vector<std::string> out = console_header(report);
  const auto append = [&](std::vector<std::string> lines) {
    out.insert(out.end(), lines.begin(), lines.end());
  };
  for (const std::string& warning : warnings) out.push_back("# warning      " + warning);
  if (auto lines = number_lines(report); !lines.empty()) {
    out.emplace_back("#");
    append(std::move(lines));
  }
  append(gate_lines(report));
  append(noise_lines(report));
  append(metric_lines(report));
  append(strata_lines(report, strata));
  append(all_worst_lines(report));
  append(lost_lines(report));
  append(nonfinite_lines(report));
  out.emplace_back("#");
  out.push_back(verdict_line(report, folder));
  out.push_back("# reproduce    " + report.reproduce);
  for (std::string& line : out) line = escaped(line);  // names of files and tensors may hold anything
  return out;
}

}  // namespace drift
