#include "audit/console_pairs.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text_grid.hpp"
#include "stats/mismatch.hpp"

namespace drift {
namespace {

using Lines = std::vector<std::string>;
using Row = std::vector<std::string>;

/// What two right fp32 formulas differ by, nats: below it sigma says nothing about bugs.
constexpr double fp32_order = 1e-6;

/// More pairs than this are read in the report, not in a terminal.
constexpr std::size_t shown_pairs = 3;

// What people look at first, of some seventy.
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

}  // namespace

std::vector<std::string> noise_lines(const AggregateReport& report) {
  Lines out;
  if (!report.recorded || !report.input || !report.input->logits) return out;
  for (const RecordedReport& recorded : *report.recorded)
    for (const auto& [reference, compared] : recorded.vs) {
      if (!compared.noise || compared.noise->count == 0) continue;
      const Noise& noise = *compared.noise;
      if (out.empty()) out.emplace_back("#");
      out.push_back("# noise of " + recorded.name + ": |d| is " + short_number(noise.median) +
                    " sigma in the median, " + short_number(noise.p99) + " at p99, " +
                    short_number(100 * noise.share_over_6) +
                    " % of rows over 6; sigma, what storing logits as " + report.input->logits->dtype +
                    " alone does, is " + short_number(noise.sigma_median) +
                    (noise.sigma_median < fp32_order ? " (less than the order of fp32 sums does)" : ""));
    }
  return out;
}

std::vector<std::string> metric_lines(const AggregateReport& report) {
  Lines out;
  if (!report.pairs) return out;
  std::size_t shown = 0;
  for (const PairReport& pair : *report.pairs) {
    if (!pair.metrics || pair.compared.drift.count == 0) continue;
    if (shown++ == shown_pairs) {
      out.push_back("# metrics of the other pairs are in the report");
      break;
    }
    out.emplace_back("#");
    out.push_back("# " + pair.a + " (training) against " + pair.b + " (rollout), d = training - rollout");
    std::vector<std::pair<std::string, double>> values;
    for (const std::string_view key : first_metrics)
      for (const Metric& metric : mismatch_metrics())
        if (metric.key == key) values.emplace_back(key, (*pair.metrics).*metric.value);
    for (std::string& line : in_columns(values, 4)) out.push_back(std::move(line));
    if (!pair.framework_metrics.empty())
      for (std::string& line : in_columns(pair.framework_metrics, 2)) out.push_back(std::move(line));
  }
  return out;
}

std::vector<std::string> strata_lines(const AggregateReport& report, std::span<const std::string> wanted) {
  Lines out;
  if (wanted.empty()) return out;
  const auto append = [&](Lines lines) { out.insert(out.end(), lines.begin(), lines.end()); };
  if (report.recorded)
    for (const RecordedReport& recorded : *report.recorded)
      for (const auto& [reference, compared] : recorded.vs)
        append(tables(recorded.name + " vs " + reference, compared.strata, wanted));
  if (report.pairs)
    for (const PairReport& pair : *report.pairs)
      append(tables(pair.a + " vs " + pair.b, pair.compared.strata, wanted));
  return out;
}

}  // namespace drift
