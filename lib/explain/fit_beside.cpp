// One number and one option at a time, on a survey of a few sampled rows: the same tables and the same score
// as the search's. Row faults are left out: the rows that they read are not sampled.

#include "explain/fit_beside.hpp"

#include <algorithm>
#include <cmath>

#include "explain/search.hpp"

namespace drift::hypothesis {
namespace {

constexpr std::size_t most_rows = 16;  // hit to fp32 arithmetic they are worth some 300 bits
constexpr std::int64_t fewest_hits = 4;

struct Sampled {
  Survey survey;
  std::vector<float> recorded;
  std::vector<const SampleRow*> rows;
};

template <class T>
std::vector<T> some_of(const std::vector<T>& all, const std::vector<const SampleRow*>& rows) {
  std::vector<T> out;
  if (all.empty()) return out;
  for (const SampleRow* row : rows) out.push_back(all[static_cast<std::size_t>(row->row)]);
  return out;
}

Sampled sampled(std::span<const SampleRow> samples, const Survey& all, std::span<const float> recorded) {
  Sampled out;
  const std::size_t step = (samples.size() + most_rows - 1) / most_rows;
  for (std::size_t i = 0; i < samples.size(); i += step) {
    out.rows.push_back(&samples[i]);
    out.recorded.push_back(recorded[static_cast<std::size_t>(samples[i].row)]);
  }
  Survey& few = out.survey;
  few.rows = few.sequence = static_cast<std::int64_t>(out.rows.size());
  few.vocab = all.vocab;
  few.padded_vocab = all.padded_vocab;
  few.sequences = all.sequences;
  few.active = few.use = std::vector<std::uint8_t>(out.rows.size(), 1);
  few.temperature = some_of(all.temperature, out.rows);
  few.sigma = some_of(all.sigma, out.rows);
  few.entropy = some_of(all.entropy, out.rows);
  few.variants.push_back(all.variants[0]);
  few.variants[0].lse = some_of(all.variants[0].lse, out.rows);
  few.variants[0].lse_of_padding = some_of(all.variants[0].lse_of_padding, out.rows);
  for (const ColumnPick& pick : all.columns)
    few.columns.push_back({pick.id, some_of(pick.column, out.rows), some_of(pick.stored, out.rows)});
  return out;
}

// The index of the way under which most rows come out beside some option; the number of ways: none does.
std::size_t best_beside(Sampled few, const std::vector<Variant>& ways) {
  Survey& survey = few.survey;
  for (const Variant& way : ways) {
    survey.variants.push_back(way);
    const std::size_t variant = survey.variants.size() - 1;
    for (std::size_t i = 0; i < few.rows.size(); ++i) {
      std::vector<float> values;
      for (const float stored : few.rows[i]->widened) {
        const float value = value_under(survey, variant, stored, i);
        if (std::isfinite(value)) values.push_back(value);
      }
      survey.variants.back().lse.push_back(kept_lse(values, way.truncation));
    }
  }
  Tables tables{
      {Table(1), domain_table(survey), column_table(survey), Table(1), output_table(survey, few.recorded)}};
  const Hypothesis null = null_of(tables);
  const Baseline baseline = baseline_of(survey, null, few.recorded);
  std::size_t best = ways.size();
  std::int64_t most = fewest_hits - 1;
  Option value;
  const auto score_with = [&](std::size_t variant, Axis axis, const Option& option) {
    value.variant = variant;
    Hypothesis pair = null;
    pair.at[static_cast<std::size_t>(Axis::value)] = &value;
    pair.at[static_cast<std::size_t>(axis)] = &option;
    return score_of(survey, pair, baseline, few.recorded);
  };
  for (const Axis axis : {Axis::domain, Axis::column, Axis::output})
    for (const Option& option : tables.axes[static_cast<std::size_t>(axis)]) {
      if (!option.why_not.empty() || option.fixed_variant >= 0) continue;
      const std::int64_t alone = score_with(0, axis, option).within;
      for (std::size_t w = 0; w < ways.size(); ++w) {
        const Score score = score_with(w + 1, axis, option);
        if (score.exactly <= most || score.within <= alone) continue;
        if (10 * (score.unexplained + score.to_noise) > score.exactly) continue;
        most = score.exactly;
        best = w;
      }
    }
  return best;
}

}  // namespace

std::optional<double> temperature_beside(std::span<const SampleRow> samples, const Survey& survey,
                                         std::span<const float> recorded) {
  if (samples.empty()) return std::nullopt;
  std::vector<Variant> ways;
  const float t = survey.temperature.empty() ? survey.variants[0].rule.temperature
                                             : survey.temperature[static_cast<std::size_t>(samples[0].row)];
  for (int twentieths = 2; twentieths <= 40; ++twentieths) {
    Variant way{.id = "temperature_fitted", .rule = survey.variants[0].rule, .truncation = {}};
    way.rule.temperature = static_cast<float>(twentieths) / 20.0f;
    const auto is = [&](float known) { return std::fabs(way.rule.temperature - known) <= 1e-6f * known; };
    if (is(1) || is(t) || is(t * t)) continue;  // what the survey tries anyway needs no fit
    ways.push_back(std::move(way));
  }
  const std::size_t best = best_beside(sampled(samples, survey, recorded), ways);
  if (best == ways.size()) return std::nullopt;
  return std::round(20 * static_cast<double>(ways[best].rule.temperature)) / 20;
}

std::optional<Truncation> truncation_beside(std::span<const SampleRow> samples, const Survey& survey,
                                            std::span<const float> recorded) {
  if (samples.empty()) return std::nullopt;
  std::vector<Variant> ways;
  const auto add = [&](const Truncation& truncation) {
    if (truncation == survey.variants[0].truncation) return;
    ways.push_back({.id = "truncation_fitted", .rule = survey.variants[0].rule, .truncation = truncation});
  };
  for (const std::int64_t k : {5, 10, 20, 30, 40, 50, 64, 100, 200}) add({k, 1, 0});
  for (const double p : {0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99}) add({0, p, 0});
  for (const double p : {0.01, 0.02, 0.05, 0.1}) add({0, 1, p});
  const std::size_t best = best_beside(sampled(samples, survey, recorded), ways);
  if (best == ways.size()) return std::nullopt;
  return ways[best].truncation;
}

}  // namespace drift::hypothesis
