#include "audit/console_table.hpp"

#include <algorithm>

#include "audit/console_header.hpp"
#include "audit/options.hpp"
#include "audit/text_grid.hpp"

namespace drift {
namespace {

using Row = std::vector<std::string>;

const Row heading{"# nats", "", "max_abs", "mean_abs", "p99", "max_ulp", "differ", "of", "limit", "verdict"};

Row numbers(const std::string& what, const std::string& quantity, const Drift& drift,
            const std::string& limit, const std::string& verdict) {
  if (drift.count == 0) return {what, quantity, "-", "-", "-", "-", "0", "0", limit, verdict};
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

const GateReport* gate_named(const AggregateReport& report, const std::string& name) {
  if (!report.gates) return nullptr;
  const auto& gates = *report.gates;
  const auto found =
      std::find_if(gates.begin(), gates.end(), [&](const GateReport& gate) { return gate.name == name; });
  return found == gates.end() ? nullptr : &*found;
}

/// Is there a --gate on this recorded tensor?
bool is_gated(const AggregateReport& report, const std::string& recorded) {
  return report.gates && std::any_of(report.gates->begin(), report.gates->end(), [&](const GateReport& gate) {
           return gate.name.find("recorded") == 0 && gate.name.find(recorded) != std::string::npos;
         });
}

Row candidate_row(const AggregateReport& report, const CandidateReport& candidate,
                  const std::string& quantity, const Drift& drift) {
  const GateReport* gate = gate_named(report, "candidates." + candidate.formula + "." + quantity);
  std::string verdict = gate == nullptr ? "not gated" : gate->passed ? "pass" : "DRIFT";
  if (gate != nullptr && gate->rows_over > 0) verdict += " in " + grouped(gate->rows_over) + " rows";
  if (!candidate.replicated) verdict += ", REPLICAS DIFFER";
  return numbers(candidate.formula, quantity, drift, gate == nullptr ? "" : short_number(gate->limit),
                 verdict);
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
    for (const RecordedReport& recorded : *report.recorded)
      for (const auto& [reference, compared] : recorded.vs)
        rows.push_back(numbers(recorded.name + " vs " + reference, "logp", compared.drift, "",
                               is_gated(report, recorded.name) ? "see gates" : "not gated"));
  return rows.size() > 1 ? aligned(rows, 2) : std::vector<std::string>{};
}

std::vector<std::string> gate_lines(const AggregateReport& report) {
  std::vector<Row> rows;
  if (report.gates)
    for (const GateReport& gate : *report.gates)
      if (gate.from == "option" && gate.name.find("candidates.") != 0)
        rows.push_back({"gate", gate.name, "seen", short_number(gate.value), gate.passed ? "pass" : "DRIFT"});
  return aligned(rows, 3);
}

std::string position_text(const Token& token) {
  std::string out = "[";
  for (const std::int64_t index : token.position)
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
    rows.push_back({"", std::to_string(token.row), position_text(token),
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

/// The user's own numbers first; a candidate's tokens only where it drifted or nothing of the user's was
/// compared.
std::vector<std::string> all_worst_lines(const AggregateReport& report) {
  std::vector<std::string> out;
  const auto append = [&](std::vector<std::string> lines) {
    out.insert(out.end(), lines.begin(), lines.end());
  };
  if (report.recorded)
    for (const RecordedReport& recorded : *report.recorded)
      for (const auto& [reference, compared] : recorded.vs)
        if (reference == "oracle")
          append(worst_lines(recorded.name + " vs oracle", compared, "recorded", "oracle"));
  if (report.candidates)
    for (const CandidateReport& candidate : *report.candidates)
      for (const auto& [quantity, compared] :
           {std::pair<std::string, const Compared*>{"lse", &candidate.lse}, {"logp", &candidate.logp}}) {
        const GateReport* gate = gate_named(report, "candidates." + candidate.formula + "." + quantity);
        if (gate != nullptr && !gate->passed)
          append(worst_lines(candidate.formula + " " + quantity, *compared, "candidate", "oracle"));
      }
  return out;
}

std::vector<std::string> nonfinite_lines(const AggregateReport& report) {
  if (!report.input || report.input->nonfinite.empty()) return {};
  std::vector<std::string> out{
      "#", "# " + grouped(report.input->nonfinite_active) +
               " active rows hold what has no log-prob; they are left out of every number above"};
  for (const NonfiniteRow& row : report.input->nonfinite)
    out.push_back("nonfinite  row " + std::to_string(row.row) +
                  (row.column < 0 ? "" : "  column " + std::to_string(row.column)) +
                  (row.owner_tp_rank < 0 ? "" : "  owner tp " + std::to_string(row.owner_tp_rank)) + "  " +
                  row.kind);
  const auto listed = static_cast<std::int64_t>(report.input->nonfinite.size());
  if (listed < report.input->nonfinite_active)
    out.push_back("nonfinite  ... and " + grouped(report.input->nonfinite_active - listed) + " more");
  return out;
}

std::string compared_text(const AggregateReport& report) {
  std::string out;
  if (report.candidates) {
    std::size_t within = 0;
    for (const CandidateReport& candidate : *report.candidates) {
      const GateReport* lse = gate_named(report, "candidates." + candidate.formula + ".lse");
      const GateReport* logp = gate_named(report, "candidates." + candidate.formula + ".logp");
      within += candidate.replicated && (lse == nullptr || lse->passed) && (logp == nullptr || logp->passed);
    }
    out += std::to_string(within) + " of " + std::to_string(report.candidates->size()) +
           " formulas within limits";
  }
  if (report.recorded)
    for (const RecordedReport& recorded : *report.recorded)
      for (const auto& [reference, compared] : recorded.vs)
        if (reference == "oracle")
          out += ", " + recorded.name + " max_abs " + short_number(compared.drift.max_abs) +
                 (is_gated(report, recorded.name) ? " (gated)" : " (not gated)");
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
  if (const std::string compared = compared_text(report); !compared.empty()) out += ": " + compared;
  if (report.candidates && report.scope == "self-check")
    out += "; self-check only: nothing that your system computed was compared";
  return out + (folder.empty() ? "; no report could be written" : "; reports in " + folder);
}

std::vector<std::string> console_table(const AggregateReport& report, const std::string& folder,
                                       std::span<const std::string> warnings) {
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
  append(all_worst_lines(report));
  append(nonfinite_lines(report));
  out.emplace_back("#");
  out.push_back(verdict_line(report, folder));
  out.push_back("# reproduce    " + report.reproduce);
  return out;
}

}  // namespace drift
