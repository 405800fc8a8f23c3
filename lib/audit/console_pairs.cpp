#include "audit/console_pairs.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "audit/console_choice.hpp"
#include "base/text_grid.hpp"
#include "stats/mismatch.hpp"

namespace drift {
namespace {

using Lines = std::vector<std::string>;
using Row = std::vector<std::string>;

/// What two right fp32 formulas differ by, nats: below it sigma says nothing about bugs.
constexpr double fp32_order = 1e-6;

// What people look at first, of all that the report has.
constexpr std::array<std::string_view, 16> first_metrics{
    "tokens",       "mismatch_count", "d_abs_mean",  "k1",      "k3",         "k3_reverse",
    "ratio_mean",   "ratio_min",      "ratio_max",   "ess",     "clip_share", "token_mult_prob_error",
    "prob_pearson", "train_ppl",      "rollout_ppl", "chi2_seq"};

std::string number_text(double value) {
  const bool is_whole =
      value >= 0 && value < 9e15 && value == static_cast<double>(static_cast<std::int64_t>(value));
  return is_whole ? grouped(static_cast<std::int64_t>(value)) : short_number(value);
}

/// Names and numbers in `columns` pairs a line.
Lines in_columns(const std::vector<std::pair<std::string, double>>& values, std::size_t columns) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % columns == 0) rows.emplace_back();
    rows.back().push_back(values[i].first + " " + number_text(values[i].second));
  }
  return aligned(rows, columns, "  ");
}

Lines tables(const std::string& title, const std::vector<Strata>& all, std::span<const std::string> wanted) {
  Lines out;
  for (const Strata& table : all) {
    if (std::find(wanted.begin(), wanted.end(), table.by) == wanted.end() &&
        std::find(wanted.begin(), wanted.end(), "all") == wanted.end())
      continue;
    out.emplace_back("#");
    out.push_back("# " + title + " by " + table.by);
    std::vector<Row> rows{{"# " + table.by, "rows", "differ", "mean", "mean_abs", "rms", "max_abs"}};
    for (const Stratum& bin : table.strata)
      rows.push_back({bin.name, grouped(bin.count), grouped(bin.mismatch_count), short_number(bin.mean),
                      short_number(bin.mean_abs), short_number(bin.rms), short_number(bin.max_abs)});
    for (std::string& line : aligned(rows, 1)) out.push_back(std::move(line));
  }
  return out;
}

std::string percent(double share) { return short_number(100 * share) + " %"; }

}  // namespace

std::vector<std::string> noise_lines(const AggregateReport& report) {
  if (!report.recorded || !report.input || !report.input->logits) return {};
  const ShortNames shown(report);
  std::vector<Row> rows{{"# recorded", "median", "p99", "over 6", "sigma", ""}};
  std::vector<Spot> spots;
  for (const Spot& spot : worst_recorded(report))
    if (const auto& noise = (*report.recorded)[spot.recorded].vs[spot.vs].second.noise;
        noise && noise->count > 0)
      spots.push_back(spot);
  if (spots.empty()) return {};
  for (std::size_t i = 0; i < shown_rows(spots.size()); ++i) {
    const RecordedReport& recorded = (*report.recorded)[spots[i].recorded];
    const Noise& noise = *recorded.vs[spots[i].vs].second.noise;
    rows.push_back({shown(recorded.name), short_number(noise.median), short_number(noise.p99),
                    percent(noise.share_over_6), short_number(noise.sigma_median),
                    noise.sigma_median < fp32_order ? "less than the order of fp32 sums does" : ""});
  }
  Lines out{"#", "# noise: |d| / sigma, which is what rounding the logits to " + report.input->logits->dtype +
                     " can do: far above 1 is no rounding, below 1 may still have a cause (explain)"};
  for (std::string& line : aligned(rows, 1)) out.push_back(std::move(line));
  if (rows.size() - 1 < spots.size())
    out.push_back(and_more(spots.size() + 1 - rows.size(), "recorded tensor", "recorded tensors"));
  return out;
}

std::vector<std::string> metric_lines(const AggregateReport& report) {
  Lines out;
  const ShortNames shown(report);
  std::size_t found = 0;
  for (const std::size_t i : worst_pairs(report)) {
    const PairReport& pair = (*report.pairs)[i];
    if (!pair.metrics || pair.compared.drift.count == 0 || ++found > shown_blocks) continue;
    out.emplace_back("#");
    out.push_back("# " + shown(pair.a) + " (training) against " + shown(pair.b) +
                  " (rollout), d = training - rollout");
    std::vector<std::pair<std::string, double>> values;
    for (const std::string_view key : first_metrics)
      for (const Metric& metric : mismatch_metrics())
        if (metric.key == key) values.emplace_back(key, (*pair.metrics).*metric.value);
    for (std::string& line : in_columns(values, 4)) out.push_back(std::move(line));
    if (!pair.framework_metrics.empty())
      for (std::string& line : in_columns(pair.framework_metrics, 2)) out.push_back(std::move(line));
  }
  if (found > shown_blocks) {
    out.emplace_back("#");
    out.push_back(and_more(found - shown_blocks, "pair's metrics", "pairs' metrics"));
  }
  return out;
}

std::vector<std::string> strata_lines(const AggregateReport& report, std::span<const std::string> wanted) {
  Lines out;
  if (wanted.empty()) return out;
  const ShortNames shown(report);
  std::size_t found = 0;
  const auto append = [&](const std::string& title, const std::vector<Strata>& strata) {
    Lines lines = tables(title, strata, wanted);
    if (!lines.empty() && ++found <= shown_blocks) out.insert(out.end(), lines.begin(), lines.end());
  };
  for (const Spot& spot : worst_recorded(report)) {
    const RecordedReport& recorded = (*report.recorded)[spot.recorded];
    const auto& [reference, compared] = recorded.vs[spot.vs];
    append(shown(recorded.name) + " vs " + reference, compared.strata);
  }
  for (const std::size_t i : worst_pairs(report))
    append(shown.pair((*report.pairs)[i]), (*report.pairs)[i].compared.strata);
  if (found > shown_blocks) {
    out.emplace_back("#");
    out.push_back(and_more(found - shown_blocks, "comparison's strata", "comparisons' strata") +
                  " (--recorded or --pair picks which are here)");
  }
  return out;
}

}  // namespace drift
