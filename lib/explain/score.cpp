#include "explain/score.hpp"

#include <bit>
#include <cmath>

namespace drift::hypothesis {
namespace {

// Logits that were rounded once more differ by whole ulps: a step in the target's alone is sqrt 12 = 3.5
// sigma.
constexpr double noise_sigmas = 4;
constexpr double spread_nats = 8;  // where a wrong value could as well have been

double worth(double width) { return std::fmax(0.0, std::log2(spread_nats / std::fmax(width, 0x1p-40))); }

double sigma_of(const Survey& survey, std::size_t row) {
  if (survey.sigma.empty()) return 0;
  const auto sigma = static_cast<double>(survey.sigma[row]);
  return std::isfinite(sigma) ? sigma : 0;
}

// A value that falls on a 16-bit lattice by chance does so once in 2^16 or 2^13 times.
double worth_of_lattice(Dtype lattice) {
  return lattice == Dtype::BF16 ? 16 : lattice == Dtype::F16 ? 13 : 0;
}

}  // namespace

double tolerance_of(double logit, double lse, double logp) {
  const auto largest =
      static_cast<float>(std::fmax(std::fabs(logp), std::fmax(std::fabs(logit), std::fabs(lse))));
  const float power = std::bit_cast<float>(std::bit_cast<std::uint32_t>(largest) & 0x7f800000u);
  return static_cast<double>(power) * 0x1p-21 + 0x1p-22;
}

Row row_under(const Survey& survey, const Hypothesis& hypothesis, std::size_t row) {
  return row_under(survey, hypothesis, row, hypothesis.variant());
}

Row row_under(const Survey& survey, const Hypothesis& hypothesis, std::size_t row, std::size_t variant) {
  Row out;
  const auto& source = hypothesis[Axis::row].source;
  const std::int64_t from = source.empty() ? static_cast<std::int64_t>(row) : source[row];
  out.exact.row = static_cast<std::size_t>(from < 0 ? ~from : from);
  out.edge = from < 0 || (out.exact.row != row && !survey.use[out.exact.row]);
  const Option& domain = hypothesis[Axis::domain];
  const auto& logit = domain.logit ? domain.logit : hypothesis[Axis::column].logit;
  out.exact.logit = logit(variant, out.exact.row);
  out.exact.lse = domain.lse(variant, out.exact.row);
  out.exact.logp = out.exact.logit - out.exact.lse;
  out.exact.tolerance = tolerance_of(out.exact.logit, out.exact.lse, out.exact.logp);
  return out;
}

Outcome outcome_of(const Survey& survey, const Hypothesis& hypothesis, std::size_t row, float recorded) {
  const Row under = row_under(survey, hypothesis, row);
  Outcome out;
  if (under.edge && recorded == 0.0f) {
    out.value = out.low = out.high = 0;
    out.width = 0x1p-18;
    out.is_read = true;
    return out;
  }
  out = hypothesis[Axis::output].outcome(under.exact, recorded);
  if (!std::isfinite(out.value) || !std::isfinite(out.low) || !std::isfinite(out.high)) return {};
  return out;
}

Fit fit_of(const Survey& survey, const Outcome& outcome, Dtype lattice, std::size_t row, float recorded) {
  if (std::isnan(outcome.value)) return Fit::none;
  const auto value = static_cast<double>(recorded);
  if (lattice != Dtype::F32 && rounded_to(lattice, recorded) != recorded) return Fit::none;
  if (outcome.low <= value && value <= outcome.high) return Fit::exact;
  const double reach = noise_sigmas * outcome.noise_scale * sigma_of(survey, row);
  return outcome.low - reach <= value && value <= outcome.high + reach && reach > 0 ? Fit::noise : Fit::none;
}

Baseline baseline_of(const Survey& survey, const Hypothesis& null, std::span<const float> recorded) {
  Baseline out;
  for (std::size_t row = 0; row < recorded.size(); ++row) {
    if (!survey.use[row] || !std::isfinite(recorded[row])) continue;
    const Outcome outcome = outcome_of(survey, null, row, recorded[row]);
    if (std::isnan(outcome.value)) continue;
    out.rows.push_back(row);
    out.outcome.push_back(outcome);
    out.fit.push_back(fit_of(survey, outcome, Dtype::F32, row, recorded[row]));
    out.drifting += out.fit.back() != Fit::exact;
  }
  return out;
}

Baseline thinned(const Baseline& all, std::size_t most) {
  if (all.rows.size() <= 2 * most) return all;
  const std::size_t any_step = (all.rows.size() + most - 1) / most;
  const std::size_t drift_step = (static_cast<std::size_t>(all.drifting) + most - 1) / most;
  Baseline out;
  std::size_t drifting = 0;
  for (std::size_t i = 0; i < all.rows.size(); ++i) {
    const bool drifts = all.fit[i] != Fit::exact;
    const bool kept = i % any_step == 0 || (drifts && drifting % drift_step == 0);
    drifting += drifts;
    if (!kept) continue;
    out.rows.push_back(all.rows[i]);
    out.outcome.push_back(all.outcome[i]);
    out.fit.push_back(all.fit[i]);
    out.drifting += drifts;
  }
  return out;
}

bool Signs::is_one_signed() const {
  const auto n = static_cast<double>(up + down);
  return n >= 7 && std::fabs(static_cast<double>(up - down)) > 2.6 * std::sqrt(n);
}

Score score_of(const Survey& survey, const Hypothesis& hypothesis, const Baseline& baseline,
               std::span<const float> recorded) {
  Score score;
  const Dtype lattice = hypothesis[Axis::output].lattice;
  bool on_lattice = lattice != Dtype::F32;
  std::int64_t nonzero = 0;
  for (std::size_t i = 0; i < baseline.rows.size(); ++i) {
    const std::size_t row = baseline.rows[i];
    const float value = recorded[row];
    const Outcome outcome = outcome_of(survey, hypothesis, row, value);
    const Outcome& audited = baseline.outcome[i];
    const Fit fit = fit_of(survey, outcome, lattice, row, value), before = baseline.fit[i];
    if (lattice != Dtype::F32) on_lattice = on_lattice && rounded_to(lattice, value) == value;
    nonzero += value != 0.0f;
    const double sigma = sigma_of(survey, row), reach = 6 * sigma * outcome.noise_scale;
    if (fit == Fit::exact && !outcome.is_read) score.exact_bits += worth(outcome.width);
    if (fit == Fit::noise)
      score.noise_bits += worth(outcome.width + 2 * noise_sigmas * outcome.noise_scale * sigma);
    score.within += fit == Fit::exact;
    const double shift = std::fabs(outcome.value - audited.value);
    const bool has_moved = !(shift <= audited.width / 2);  // NaN: moved
    score.moved += has_moved;
    const double error = static_cast<double>(value) - outcome.value, off = std::fabs(error);
    if (!std::isnan(off)) {
      score.sum_abs += off;
      score.max_abs = std::fmax(score.max_abs, off);
    }
    const bool beyond_noise = has_moved && shift > noise_sigmas * sigma;
    const bool is_explained = fit > before && (beyond_noise || (has_moved && fit == Fit::exact));
    if (is_explained) {
      ++score.explained;
      const bool is_read = fit == Fit::exact && outcome.is_read;
      score.read += is_read;
      score.exactly += fit == Fit::exact && !is_read;
      score.clearly += beyond_noise;
      score.max_explained = std::fmax(score.max_explained, off);
    }
    if (fit == Fit::exact) continue;
    const double band = std::fmax(outcome.high - outcome.low, 0.0);
    if (off <= reach + band) {
      ++score.to_noise;
      ++(error > 0 ? score.noise_signs.up : score.noise_signs.down);
    } else if (std::isnan(off) && before != Fit::exact) {
      ++score.unpredicted;
    } else {
      ++score.unexplained;
    }
  }
  score.pattern_bits = hypothesis[Axis::output].pattern_bits;
  if (on_lattice) score.lattice_bits = worth_of_lattice(lattice) * static_cast<double>(nonzero);
  return score;
}

}  // namespace drift::hypothesis
