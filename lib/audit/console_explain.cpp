#include "audit/console_explain.hpp"

#include <algorithm>

#include "audit/console_choice.hpp"
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

/// Whether `more` has all causes of `less`, others too, and fits no better for it: no more rows, and what is
/// left is not a tenth smaller.
bool is_no_better(const ExplainReport::Hypothesis& more, const ExplainReport::Hypothesis& less) {
  const auto has = [&](const ExplainReport::Cause& cause) {
    return std::any_of(more.causes.begin(), more.causes.end(),
                       [&](const ExplainReport::Cause& other) { return other.id == cause.id; });
  };
  return less.causes.size() < more.causes.size() && more.bits <= less.bits && more.within <= less.within &&
         more.residual.mean_abs >= 0.9 * less.residual.mean_abs &&
         std::all_of(less.causes.begin(), less.causes.end(), has);
}

/// The hypotheses that come closest, best first; of the others no pair that one of its causes can do without.
Lines ranking(const ExplainReport::Finding& finding) {
  constexpr std::size_t shown = 5;
  std::vector<const ExplainReport::Hypothesis*> all, chosen;
  for (const auto* list : {&finding.best, &finding.others})
    for (const ExplainReport::Hypothesis& one : *list) all.push_back(&one);
  for (std::size_t i = 0; i < all.size() && chosen.size() < shown; ++i)
    if (i < finding.best.size() || std::none_of(all.begin(), all.end(), [&](const auto* other) {
          return is_no_better(*all[i], *other);
        }))
      chosen.push_back(all[i]);
  std::vector<Row> rows{
      {"# hypothesis", "in the order of", "bit for bit", "within fp32", "of", "from fp64: mean", "max"}};
  for (const ExplainReport::Hypothesis* one : chosen)
    rows.push_back({causes_of(*one), one->formula.empty() ? "-" : one->formula, grouped(one->bits),
                    grouped(one->within), grouped(finding.rows), short_number(one->residual.mean_abs),
                    short_number(one->residual.max_abs)});
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
  constexpr std::size_t width = 120;  // of a sentence; -q keeps it on one line
  const ShortNames shown(run);
  Lines out;
  const auto append = [&](const Lines& lines) { out.insert(out.end(), lines.begin(), lines.end()); };
  if (!quiet) {
    append(console_header(run));
    for (const std::string& warning : warnings) out.push_back("# warning      " + warning);
  }
  if (report.findings)
    for (const ExplainReport::Finding& finding : *report.findings) {
      const std::string sentence = shown(finding.name) + ": " + finding.sentence;
      if (quiet) {
        out.push_back(sentence);
        continue;
      }
      out.emplace_back("#");
      append(wrapped(sentence, width, "  "));
      append(ranking(finding));
      append(parts(finding));
      const std::size_t untestable = finding.untestable.size();
      if (untestable > 0)
        out.push_back("# " + grouped(static_cast<std::int64_t>(untestable)) + " of " +
                      counted(static_cast<std::int64_t>(untestable + finding.excluded.size()), "cause") +
                      " cannot be told apart on this dump: the report says which and why");
    }
  if (!quiet) append(noise_lines(run));
  if (!quiet) out.emplace_back("#");
  if (!quiet || report.error) out.push_back(verdict(report, folder));
  if (!quiet) out.push_back("# reproduce    " + report.reproduce);
  for (std::string& line : out) line = escaped(line);
  return out;
}

}  // namespace drift
