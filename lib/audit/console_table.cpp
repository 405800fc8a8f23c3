#include "audit/console_table.hpp"

#include <algorithm>
#include <functional>

#include "audit/console_choice.hpp"
#include "audit/console_gates.hpp"
#include "audit/console_header.hpp"
#include "audit/console_pairs.hpp"
#include "audit/console_rows.hpp"
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

std::string verdict_of(Gated gate, const Drift& drift) {
  const std::string verdict = gate == Gated::no ? "not gated" : gate == Gated::passed ? "pass" : "DRIFT";
  return drift.count == 0 ? "no rows, " + verdict : verdict;
}

Row recorded_row(const AggregateReport& report, const ShortNames& shown, Spot spot) {
  const RecordedReport& recorded = (*report.recorded)[spot.recorded];
  const auto& [reference, compared] = recorded.vs[spot.vs];
  return numbers(shown(recorded.name) + " vs " + reference, recorded.kind, compared.drift, "",
                 verdict_of(gated(report, spot.recorded, reference), compared.drift));
}

Row pair_row(const AggregateReport& report, const ShortNames& shown, std::size_t index) {
  const PairReport& pair = (*report.pairs)[index];
  std::string verdict = verdict_of(gated_pair(report, index), pair.compared.drift);
  if (pair.permuted) verdict += ", PERMUTED: the same values in another order";
  return numbers(shown.pair(pair), pair.kind, pair.compared.drift, "", verdict);
}

void candidate_rows(const AggregateReport& report, std::vector<Row>& rows) {
  if (!report.candidates) return;
  for (const CandidateReport& candidate : *report.candidates) {
    rows.push_back(candidate_row(report, candidate, "lse", candidate.lse.drift));
    rows.push_back(candidate_row(report, candidate, "logp", candidate.logp.drift));
    if (candidate.input_rounding_lse)
      rows.push_back(numbers("  input rounding", "lse", *candidate.input_rounding_lse, "", "not gated"));
    if (candidate.input_rounding_logp)
      rows.push_back(numbers("  input rounding", "logp", *candidate.input_rounding_logp, "", "not gated"));
  }
}

/// The first of `all`, the worst, in the order of the report if that is all of them.
template <class Item, class Before>
std::vector<Item> chosen(std::vector<Item> all, Before before) {
  const std::size_t shown = shown_rows(all.size());
  if (shown == all.size()) std::sort(all.begin(), all.end(), before);
  all.resize(shown);
  return all;
}

std::vector<std::string> number_lines(const AggregateReport& report) {
  const ShortNames shown(report);
  std::vector<Row> rows{heading};
  candidate_rows(report, rows);
  const std::vector<Spot> spots = worst_recorded(report);
  for (const Spot& spot : chosen(spots, [](const Spot&a, const Spot&b) {
         return std::pair(a.recorded, a.vs) < std::pair(b.recorded, b.vs);
       }))
    rows.push_back(recorded_row(report, shown, spot));
  const std::size_t before_pairs = rows.size();
  const std::vector<std::size_t> pairs = worst_pairs(report);
  for (const std::size_t i : chosen(pairs, std::less<>{})) rows.push_back(pair_row(report, shown, i));
  if (rows.size() == 1) return {};
  std::vector<std::string> out = aligned(rows, 2);
  if (const std::size_t seen = shown_rows(pairs.size()); seen < pairs.size())
    out.push_back(and_more(pairs.size() - seen, "pair", "pairs"));
  if (const std::size_t seen = shown_rows(spots.size()); seen < spots.size())
    out.insert(
        out.begin() + static_cast<std::ptrdiff_t>(before_pairs),
        and_more(spots.size() - seen, "comparison of recorded tensors", "comparisons of recorded tensors"));
  return out;
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
  append(worst_lines(report));
  append(lost_lines(report));
  append(nonfinite_lines(report));
  out.emplace_back("#");
  out.push_back(verdict_line(report, folder));
  out.push_back("# reproduce    " + report.reproduce);
  for (std::string& line : out) line = escaped(line);  // names of files and tensors may hold anything
  return out;
}

}  // namespace drift
