#include "audit/console_choice.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "audit/console_gates.hpp"
#include "base/printable.hpp"
#include "base/text_grid.hpp"

namespace drift {
namespace {

/// Rows were left out, or there were none: no statistic says how bad that is.
bool has_gaps(const Drift& drift) { return drift.count == 0 || drift.nonfinite > 0; }

double size_of(const Drift& drift) {
  return std::isnan(drift.max_abs) ? std::numeric_limits<double>::infinity() : drift.max_abs;
}

/// FILE:NAME without the folders of FILE; the name as it is if the dump itself holds the tensor.
std::string without_folders(const RecordedReport& recorded) {
  const std::size_t slash = recorded.file.rfind('/');
  const bool is_prefix = !recorded.file.empty() && recorded.name.starts_with(recorded.file + ":");
  return is_prefix && slash != std::string::npos ? recorded.name.substr(slash + 1) : recorded.name;
}

}  // namespace

std::size_t shown_rows(std::size_t all) {
  constexpr std::size_t most = 8, few_more = 4;
  return all <= most + few_more ? all : most;
}

std::vector<Spot> worst_recorded(const AggregateReport& report) {
  using Urgent = std::pair<std::tuple<bool, bool, bool, double>, Spot>;
  std::vector<Urgent> all;
  if (report.recorded)
    for (std::size_t i = 0; i < report.recorded->size(); ++i)
      for (std::size_t j = 0; j < (*report.recorded)[i].vs.size(); ++j) {
        const auto& [reference, compared] = (*report.recorded)[i].vs[j];
        all.push_back({{gated(report, i, reference) == Gated::failed, reference == "oracle",
                        has_gaps(compared.drift), size_of(compared.drift)},
                       {i, j}});
      }
  std::stable_sort(all.begin(), all.end(),
                   [](const Urgent& a, const Urgent& b) { return a.first > b.first; });
  std::vector<Spot> out;
  for (const Urgent& one : all) out.push_back(one.second);
  return out;
}

std::vector<std::size_t> worst_pairs(const AggregateReport& report) {
  using Urgent = std::pair<std::tuple<bool, bool, bool, double>, std::size_t>;
  std::vector<Urgent> all;
  for (std::size_t i = 0; report.pairs && i < report.pairs->size(); ++i) {
    const PairReport& pair = (*report.pairs)[i];
    const Drift& drift = pair.compared.drift;
    all.push_back(
        {{gated_pair(report, i) == Gated::failed, pair.permuted, has_gaps(drift), size_of(drift)}, i});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Urgent& a, const Urgent& b) { return a.first > b.first; });
  std::vector<std::size_t> out;
  for (const Urgent& one : all) out.push_back(one.second);
  return out;
}

std::string plural(std::int64_t count, const std::string& one, const std::string& several) {
  return grouped(count) + " " + (count == 1 ? one : several);
}

std::string and_more(std::size_t count, const std::string& one, const std::string& several) {
  return "# ... and " + plural(static_cast<std::int64_t>(count), "more " + one, "more " + several) +
         " in the report";
}

ShortNames::ShortNames(const AggregateReport& report) {
  if (!report.recorded) return;
  std::map<std::string, int> uses{{"oracle", 1}};
  if (report.candidates)
    for (const CandidateReport& candidate : *report.candidates) ++uses[candidate.formula];
  for (const RecordedReport& recorded : *report.recorded) {
    ++uses[recorded.name];
    if (const std::string name = without_folders(recorded); name != recorded.name) ++uses[name];
  }
  for (const RecordedReport& recorded : *report.recorded)
    if (const std::string name = without_folders(recorded); name != recorded.name && uses[name] == 1)
      short_[recorded.name] = name;
}

std::string ShortNames::operator()(const std::string& name) const {
  const auto found = short_.find(name);
  return escaped(found == short_.end() ? name : found->second);
}

}  // namespace drift
