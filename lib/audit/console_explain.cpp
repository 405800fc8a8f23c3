#include "audit/console_explain.hpp"

#include "audit/console_header.hpp"
#include "audit/console_pairs.hpp"
#include "base/printable.hpp"
#include "base/text_grid.hpp"

namespace drift {
namespace {

using Lines = std::vector<std::string>;
using Row = std::vector<std::string>;

std::string causes_of(const ExplainReport::Hypothesis& hypothesis) {
  std::string out;
  for (const ExplainReport::Cause& cause : hypothesis.causes) out += (out.empty() ? "" : " + ") + cause.id;
  return out.empty() ? "as audited" : out;
}

/// The hypotheses that come closest, best first.
Lines ranking(const ExplainReport::Finding& finding) {
  constexpr std::size_t shown = 5;
  std::vector<Row> rows{
      {"# hypothesis", "in the order of", "bit for bit", "within fp32", "of", "left mean", "left max"}};
  for (const auto* list : {&finding.best, &finding.others})
    for (const ExplainReport::Hypothesis& one : *list) {
      if (rows.size() > shown) break;
      rows.push_back({causes_of(one), one.formula.empty() ? "-" : one.formula, grouped(one.bits),
                      grouped(one.within), grouped(finding.rows), short_number(one.residual.mean_abs),
                      short_number(one.residual.max_abs)});
    }
  return aligned(rows, 2);
}

Lines parts(const ExplainReport::Finding& finding) {
  std::vector<Row> rows{{"# part of the drift", "mean", "mean_abs"}};
  for (const ExplainReport::Part& part : finding.parts)
    if (part.mean_abs > 0) rows.push_back({part.name, short_number(part.mean), short_number(part.mean_abs)});
  if (rows.size() == 1) return {};
  return aligned(rows, 1);
}

std::string verdict(const ExplainReport& report, const std::string& folder) {
  const std::string place = folder.empty() ? "; no report could be written" : "; report in " + folder;
  if (report.error)
    return "FAILED: exit " + std::to_string(report.exit_code) + " (" + report.error->fault + ") on rank " +
           std::to_string(report.error->rank) + " in " + report.error->phase + ": " + report.error->message +
           place;
  return "DONE: " +
         counted(report.findings ? static_cast<std::int64_t>(report.findings->size()) : 0,
                 "recorded tensor") +
         " explained" + place;
}

}  // namespace

std::vector<std::string> console_explanation(const AggregateReport& run, const ExplainReport& report,
                                             const std::string& folder, std::span<const std::string> warnings,
                                             bool quiet) {
  Lines out;
  const auto append = [&](Lines lines) { out.insert(out.end(), lines.begin(), lines.end()); };
  if (!quiet) {
    append(console_header(run));
    for (const std::string& warning : warnings) out.push_back("# warning      " + warning);
    append(noise_lines(run));
  }
  if (report.findings)
    for (const ExplainReport::Finding& finding : *report.findings) {
      if (!quiet) out.emplace_back("#");
      out.push_back(finding.name + ": " + finding.sentence);
      if (quiet) continue;
      append(ranking(finding));
      append(parts(finding));
      if (!finding.untestable.empty())
        out.push_back(
            "# " + counted(static_cast<std::int64_t>(finding.untestable.size()), "cause") + " of " +
            counted(static_cast<std::int64_t>(finding.untestable.size() + finding.excluded.size()), "cause") +
            " cannot be told apart on this dump: the report says which and why");
    }
  if (!quiet) out.emplace_back("#");
  if (!quiet || report.error) out.push_back(verdict(report, folder));
  if (!quiet) out.push_back("# reproduce    " + report.reproduce);
  for (std::string& line : out) line = escaped(line);
  return out;
}

}  // namespace drift
