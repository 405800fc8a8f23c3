#include "audit/console_rows.hpp"

#include <algorithm>

#include "audit/console_choice.hpp"
#include "audit/console_gates.hpp"
#include "audit/console_header.hpp"
#include "base/text_grid.hpp"

namespace drift {
namespace {

using Row = std::vector<std::string>;

std::string position_text(const std::vector<std::int64_t>& position) {
  std::string out = "[";
  for (const std::int64_t index : position)
    out.append(out.size() > 1 ? "," : "").append(std::to_string(index));
  return out.append("]");
}

std::vector<std::string> worst_of(const std::string& title, const Compared& compared,
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

/// What a column of a pair is called: what it is, unless its name says that.
std::string side(const AggregateReport& report, const std::string& name, const std::string& role) {
  const auto is_it = [&](const RecordedReport& recorded) { return recorded.name == name; };
  const bool is_recorded =
      report.recorded && std::any_of(report.recorded->begin(), report.recorded->end(), is_it);
  return is_recorded ? role : name;
}

/// [b, s] or [t] of a row of logits of that shape.
std::vector<std::int64_t> position_of(const InputReport& input, std::int64_t row) {
  const std::vector<std::int64_t> shape = input.logits ? input.logits->shape : std::vector<std::int64_t>{};
  if (shape.size() == 3 && shape[1] > 0) return {row / shape[1], row % shape[1]};
  return {row};
}

}  // namespace

std::vector<std::string> worst_lines(const AggregateReport& report) {
  const ShortNames shown(report);
  std::vector<std::string> out;
  std::size_t blocks = 0;
  const auto append = [&](const std::vector<std::string>& lines) {
    if (!lines.empty() && ++blocks <= shown_blocks) out.insert(out.end(), lines.begin(), lines.end());
  };
  const auto close = [&](const std::string& one, const std::string& several) {
    if (blocks > shown_blocks) {
      out.emplace_back("#");
      out.push_back(and_more(blocks - shown_blocks, one, several));
    }
    blocks = 0;
  };
  for (const Spot& spot : worst_recorded(report)) {
    const RecordedReport& recorded = (*report.recorded)[spot.recorded];
    const auto& [reference, compared] = recorded.vs[spot.vs];
    if (reference == "oracle" || gated(report, spot.recorded, reference) == Gated::failed)
      append(worst_of(shown(recorded.name) + " vs " + reference, compared, "recorded", reference));
  }
  close("recorded tensor's worst tokens", "recorded tensors' worst tokens");
  for (const std::size_t i : worst_pairs(report)) {
    const PairReport& pair = (*report.pairs)[i];
    if (!report.oracle || gated_pair(report, i) == Gated::failed)
      append(worst_of(shown.pair(pair), pair.compared, side(report, pair.a, "training"),
                      side(report, pair.b, "rollout")));
  }
  close("pair's worst tokens", "pairs' worst tokens");
  if (report.candidates)
    for (const CandidateReport& candidate : *report.candidates)
      for (const auto& [quantity, compared] :
           {std::pair<std::string, const Compared*>{"lse", &candidate.lse}, {"logp", &candidate.logp}}) {
        const GateReport* limit = limit_of(report, candidate.formula, quantity);
        if (limit != nullptr && !limit->passed)
          append(worst_of(candidate.formula + " " + quantity, *compared, "candidate", "oracle"));
      }
  close("formula's worst tokens", "formulas' worst tokens");
  return out;
}

std::vector<std::string> lost_lines(const AggregateReport& report) {
  std::vector<std::string> out;
  if (!report.recorded || !report.input) return out;
  const ShortNames shown(report);
  std::size_t found = 0;
  for (const RecordedReport& recorded : *report.recorded)
    for (const auto& [reference, compared] : recorded.vs) {
      const std::int64_t lost = compared.drift.nonfinite - report.input->nonfinite_active;
      if (reference != "oracle" || lost <= 0 || ++found > shown_blocks) continue;
      if (out.empty()) out.emplace_back("#");
      out.push_back("# " + counted(lost, "value") + " of " + shown(recorded.name) +
                    (lost == 1 ? " is" : " are") +
                    " not finite: left out of its numbers, see its column in tokens.safetensors");
    }
  if (found > shown_blocks)
    out.push_back(and_more(found - shown_blocks, "recorded tensor like that", "recorded tensors like that"));
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

}  // namespace drift
