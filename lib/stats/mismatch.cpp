#include "stats/mismatch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <string>

#include "base/error.hpp"
#include "stats/moments.hpp"
#include "stats/token_terms.hpp"

namespace drift {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double clamp_at = 20;    // the bound on log-ratios of verl's rollout correction
constexpr double truncate_at = 2;  // its default C

/// Sums over tokens: of one sequence first, so that the sums over all tokens are sums of few large terms.
struct Sums {
  std::int64_t tokens = 0, mismatches = 0;
  std::int64_t clip_high = 0, clip_low = 0, above_2 = 0, below_half = 0, over_ln2 = 0;
  std::array<std::int64_t, 4> bands{};
  double a = 0, b = 0, d = 0, d_abs = 0, k2 = 0, k3 = 0, k3_reverse = 0, js = 0;
  double ratio_less_1 = 0, deviation = 0, larger = 0;  // larger: exp(|d|)
  double clamped = 0, truncated = 0, truncated_squares = 0, chi2 = 0, prob_diff = 0;

  void add(const Sums& s) {
    tokens += s.tokens, mismatches += s.mismatches;
    a += s.a, b += s.b, d += s.d, d_abs += s.d_abs;
    k2 += s.k2, k3 += s.k3, k3_reverse += s.k3_reverse, js += s.js;
    ratio_less_1 += s.ratio_less_1, deviation += s.deviation, larger += s.larger;
    clamped += s.clamped, truncated += s.truncated, truncated_squares += s.truncated_squares;
    chi2 += s.chi2, prob_diff += s.prob_diff;
    clip_high += s.clip_high, clip_low += s.clip_low;
    above_2 += s.above_2, below_half += s.below_half, over_ln2 += s.over_ln2;
    for (std::size_t i = 0; i < bands.size(); ++i) bands[i] += s.bands[i];
  }
};

void count_bands(std::array<std::int64_t, 4>& bands, double ratio) {
  bands[0] += ratio >= 0.999 && ratio <= 1.002;
  bands[1] += ratio >= 0.99 && ratio <= 1.01;
  bands[2] += ratio >= 0.95 && ratio <= 1.05;
  bands[3] += ratio >= 0.9 && ratio <= 1.1;
}

/// Mean, smallest and largest of one value a sequence.
struct Extent {
  double sum = 0, least = infinity, greatest = -infinity;
  void add(double x) {
    sum += x;
    least = std::min(least, x);
    greatest = std::max(greatest, x);
  }
};

/// The pass. `token` for each compared token, `end_sequence` after each sequence.
class Pass {
 public:
  void token(double a, double b) {
    const double d = a - b, magnitude = std::fabs(d);
    const TokenTerms t = terms_of(a, b);
    Sums& s = sequence_;
    ++s.tokens;
    s.mismatches += d != 0;
    s.a += a, s.b += b, s.d += d, s.d_abs += magnitude;
    s.k2 += d * d / 2, s.k3 += t.k3, s.k3_reverse += t.k3_reverse, s.js += t.js;
    s.ratio_less_1 += t.ratio_less_1, s.deviation += std::fabs(t.ratio_less_1);
    s.larger += std::max(t.ratio, t.inverse);
    const bool far = magnitude > clamp_at;
    const double clamped = !far ? t.ratio : d > 0 ? most_ : least_;
    const double clamped_less_1 = !far ? t.ratio_less_1 : clamped - 1;
    const double truncated = std::min(clamped, truncate_at);
    s.clamped += clamped, s.truncated += truncated, s.truncated_squares += truncated * truncated;
    s.chi2 += clamped_less_1 * (2 + clamped_less_1);  // ratio^2 - 1
    s.clip_high += t.ratio > 1.2, s.clip_low += t.ratio < 0.8;
    s.above_2 += t.ratio > truncate_at, s.below_half += t.ratio < 1 / truncate_at;
    s.over_ln2 += magnitude > std::numbers::ln2;
    count_bands(s.bands, t.ratio);
    d_abs_max_ = std::max(d_abs_max_, magnitude);
    ratio_min_ = std::min(ratio_min_, t.ratio);
    ratio_max_ = std::max(ratio_max_, t.ratio);
    s.prob_diff += t.prob_diff;
    prob_diff_max_ = std::max(prob_diff_max_, t.prob_diff);

    const double share = 1 / static_cast<double>(all_.tokens + s.tokens);
    d_abs_.add(magnitude, share);
    ratio_.add(t.ratio_less_1, share);
    truncated_.add(truncated, share);
    prob_diff_.add(t.prob_diff, share);
    const double from_mean = t.train_prob - train_prob_.mean();
    train_prob_.add(t.train_prob, share);
    rollout_prob_.add(t.rollout_prob, share);
    together_ += from_mean * (t.rollout_prob - rollout_prob_.mean());
  }

  void end_sequence() {
    const Sums& s = sequence_;
    if (s.tokens > 0) {
      ++sequences_;
      const double n = static_cast<double>(s.tokens), log_ppl_diff = -s.d / n;
      means_d_abs_ += s.d_abs / n;
      means_k1_ -= s.d / n, means_k2_ += s.k2 / n, means_k3_ += s.k3 / n,
          means_k3_reverse_ += s.k3_reverse / n;
      means_js_ += s.js / n;
      means_ratio_ += s.ratio_less_1 / n, means_deviation_ += s.deviation / n,
          means_above_2_ += static_cast<double>(s.above_2) / n;
      train_log_ppl_ -= s.a / n, rollout_log_ppl_ -= s.b / n;
      train_ppl_ += std::exp(-s.a / n), rollout_ppl_ += std::exp(-s.b / n);
      log_ppl_diff_.add(log_ppl_diff);
      log_ppl_abs_diff_ += std::fabs(log_ppl_diff);
      ppl_ratio_ += std::exp(log_ppl_diff);
      chi2_seq_ += std::expm1(2 * std::clamp(s.d, -clamp_at, clamp_at));
      seq_log_ratio_.add(s.d);
      const double geometric = std::exp(s.d / n);
      geometric_.add(geometric);
      count_bands(seq_bands_, geometric);
      mult_.add(s.larger / n);
      const double weight = s.truncated / n, raw_weight = s.clamped / n;
      weight_.add(weight);
      weight_moments_.add(weight, 1 / sequences_);
      weight_deviation_ = std::max(weight_deviation_, std::fabs(weight - 1));
      seq_above_2_ += raw_weight > truncate_at, seq_below_half_ += raw_weight < 1 / truncate_at;
    }
    all_.add(s);
    sequence_ = {};
  }

  Mismatch result() const;

 private:
  void add_sequences(Mismatch& m) const;

  const double most_ = std::exp(clamp_at), least_ = std::exp(-clamp_at);
  Sums all_, sequence_;
  double d_abs_max_ = 0, ratio_min_ = infinity, ratio_max_ = 0, prob_diff_max_ = 0;
  Moments d_abs_, ratio_, truncated_, prob_diff_, train_prob_, rollout_prob_, weight_moments_;
  double together_ = 0;  ///< sum of products of the two probabilities' deviations
  double sequences_ = 0, means_d_abs_ = 0, means_k1_ = 0, means_k2_ = 0, means_k3_ = 0, means_k3_reverse_ = 0;
  double means_js_ = 0, means_ratio_ = 0, means_deviation_ = 0, means_above_2_ = 0;
  double train_log_ppl_ = 0, rollout_log_ppl_ = 0, train_ppl_ = 0, rollout_ppl_ = 0;
  double log_ppl_abs_diff_ = 0, ppl_ratio_ = 0, chi2_seq_ = 0, weight_deviation_ = 0;
  double seq_above_2_ = 0, seq_below_half_ = 0;
  std::array<std::int64_t, 4> seq_bands_{};
  Extent log_ppl_diff_, seq_log_ratio_, geometric_, mult_, weight_;
};

Mismatch Pass::result() const {
  Mismatch m;
  if (sequences_ == 0) {
    for (const Metric& metric : mismatch_metrics())
      m.*metric.value = std::numeric_limits<double>::quiet_NaN();
    m.tokens = m.sequences = m.mismatch_count = 0;
    return m;
  }
  const double n = static_cast<double>(all_.tokens);
  const auto share = [&](std::int64_t count) { return static_cast<double>(count) / n; };
  m.tokens = n;
  m.mismatch_count = static_cast<double>(all_.mismatches);
  m.d_mean = all_.d / n;
  m.d_abs_mean = all_.d_abs / n;
  m.d_abs_max = d_abs_max_;
  m.d_abs_std = d_abs_.std_n_less_1(n);
  m.k1 = -all_.d / n;
  m.k1_reverse = all_.d / n;
  m.k2 = all_.k2 / n;
  m.k3 = all_.k3 / n;
  m.k3_reverse = all_.k3_reverse / n;
  m.js_divergence = all_.js / n;
  m.train_ppl_all_tokens = std::exp(-all_.a / n);
  m.rollout_ppl_all_tokens = std::exp(-all_.b / n);
  m.chi2_token = all_.chi2 / n;
  m.ratio_mean = 1 + all_.ratio_less_1 / n;
  m.ratio_min = ratio_min_;
  m.ratio_max = ratio_max_;
  m.ratio_std = std::isinf(ratio_max_) ? infinity : ratio_.std_n(n);
  m.ratio_deviation = all_.deviation / n;
  m.truncated_mean = all_.truncated / n;
  m.truncated_std = truncated_.std_n(n);
  m.ess = all_.truncated * all_.truncated / (n * all_.truncated_squares);
  m.clip_share_high = share(all_.clip_high);
  m.clip_share_low = share(all_.clip_low);
  m.clip_share = share(all_.clip_high + all_.clip_low);
  m.share_above_2 = share(all_.above_2);
  m.share_below_half = share(all_.below_half);
  m.share_over_ln2 = share(all_.over_ln2);
  m.band_0_999_1_002 = share(all_.bands[0]);
  m.band_1_percent = share(all_.bands[1]);
  m.band_5_percent = share(all_.bands[2]);
  m.band_10_percent = share(all_.bands[3]);
  m.token_mult_prob_error = all_.larger / n;
  m.prob_diff_mean = all_.prob_diff / n;
  m.prob_diff_max = prob_diff_max_;
  m.prob_diff_std = std::isinf(prob_diff_max_) ? infinity : prob_diff_.std_n_less_1(n);
  const double spread = std::sqrt(train_prob_.squares()) * std::sqrt(rollout_prob_.squares());
  m.prob_pearson = std::clamp(together_ / spread, -1.0, 1.0);  // 0 / 0 stays NaN
  add_sequences(m);
  return m;
}

void Pass::add_sequences(Mismatch& m) const {
  const double n = sequences_;
  m.sequences = n;
  m.d_abs_sum_of_sequence_means = means_d_abs_;
  m.k1_sum_of_sequence_means = means_k1_;
  m.k2_sum_of_sequence_means = means_k2_;
  m.k3_sum_of_sequence_means = means_k3_;
  m.k3_reverse_sum_of_sequence_means = means_k3_reverse_;
  m.js_sum_of_sequence_means = means_js_;
  m.d_abs_mean_of_sequence_means = means_d_abs_ / n;
  m.k1_mean_of_sequence_means = means_k1_ / n;
  m.k2_mean_of_sequence_means = means_k2_ / n;
  m.k3_mean_of_sequence_means = means_k3_ / n;
  m.k3_reverse_mean_of_sequence_means = means_k3_reverse_ / n;
  m.js_mean_of_sequence_means = means_js_ / n;
  m.train_log_ppl = train_log_ppl_ / n;
  m.rollout_log_ppl = rollout_log_ppl_ / n;
  m.train_ppl = train_ppl_ / n;
  m.rollout_ppl = rollout_ppl_ / n;
  m.log_ppl_diff = log_ppl_diff_.sum / n;
  m.log_ppl_abs_diff = log_ppl_abs_diff_ / n;
  m.log_ppl_diff_max = log_ppl_diff_.greatest;
  m.log_ppl_diff_min = log_ppl_diff_.least;
  m.ppl_ratio = ppl_ratio_ / n;
  m.ppl_ratio_of_mean = std::exp(m.log_ppl_diff);
  m.chi2_seq = chi2_seq_ / n;
  m.ratio_mean_of_sequence_means = 1 + means_ratio_ / n;
  m.ratio_deviation_mean_of_sequence_means = means_deviation_ / n;
  m.truncated_seq_mean = weight_.sum / n;
  m.truncated_seq_std = weight_moments_.std_n_less_1(n);
  m.truncated_seq_min = weight_.least;
  m.truncated_seq_max = weight_.greatest;
  m.truncated_seq_max_deviation = weight_deviation_;
  m.seq_share_above_2 = seq_above_2_ / n;
  m.seq_share_below_half = seq_below_half_ / n;
  m.share_above_2_mean_of_sequence_means = means_above_2_ / n;
  m.seq_band_0_999_1_002 = static_cast<double>(seq_bands_[0]) / n;
  m.seq_band_1_percent = static_cast<double>(seq_bands_[1]) / n;
  m.seq_band_5_percent = static_cast<double>(seq_bands_[2]) / n;
  m.seq_band_10_percent = static_cast<double>(seq_bands_[3]) / n;
  m.seq_mult_prob_error_mean = mult_.sum / n;
  m.seq_mult_prob_error_min = mult_.least;
  m.seq_mult_prob_error_max = mult_.greatest;
  m.seq_log_ratio_mean = seq_log_ratio_.sum / n;
  m.seq_log_ratio_min = seq_log_ratio_.least;
  m.seq_log_ratio_max = seq_log_ratio_.greatest;
  m.geometric_ratio_mean = geometric_.sum / n;
  m.geometric_ratio_min = geometric_.least;
  m.geometric_ratio_max = geometric_.greatest;
}

}  // namespace

Mismatch mismatch_of(std::span<const float> train, std::span<const float> rollout,
                     std::span<const std::uint8_t> use, std::span<const Range> sequences) {
  require(train.size() == rollout.size() && train.size() == use.size(), Fault::internal,
          "columns of one pair have different lengths, seen " + std::to_string(train.size()) + ", " +
              std::to_string(rollout.size()) + " and " + std::to_string(use.size()));
  Pass pass;
  std::int64_t covered = 0;
  for (const Range& sequence : sequences) {
    require(sequence.begin == covered && sequence.end >= covered &&
                static_cast<std::uint64_t>(sequence.end) <= train.size(),
            Fault::internal,
            "sequences do not follow each other, seen one from row " + std::to_string(sequence.begin) +
                ", wanted row " + std::to_string(covered));
    covered = sequence.end;
    for (auto r = static_cast<std::size_t>(sequence.begin); r < static_cast<std::size_t>(sequence.end); ++r)
      if (use[r] && std::isfinite(train[r]) && std::isfinite(rollout[r]))
        pass.token(static_cast<double>(train[r]), static_cast<double>(rollout[r]));
    pass.end_sequence();
  }
  require(static_cast<std::uint64_t>(covered) == train.size(), Fault::internal,
          "sequences do not cover all rows, seen " + std::to_string(covered) + " of " +
              std::to_string(train.size()));
  return pass.result();
}

}  // namespace drift
