#pragma once

// Rollout against training log-probs in the numbers that RL frameworks report: one sequential fp64 pass over
// the active tokens, every formula published beside its name.

#include <cstdint>
#include <span>
#include <string_view>

#include "base/range.hpp"

namespace drift {

/// Every field is one row of `mismatch_metrics()`, which has its formula; NaN where nothing was compared or
/// the value does not exist. Notation: a = train, b = rollout, d = a - b, all in nats, r = exp(d); mean, sum,
/// min, max without index run over compared tokens (active, both finite), with index s over sequences that
/// have at least one; mean[s] and sum[s] run over the compared tokens of sequence s. w = min(exp(clamp(d,
/// -20, 20)), 2) is the truncated importance weight. Standard deviations say whether they divide by n or n
/// - 1. A value beyond fp64 is inf.
struct Mismatch {
  double tokens = 0, sequences = 0, mismatch_count = 0;

  double d_mean = 0, d_abs_mean = 0, d_abs_max = 0, d_abs_std = 0;
  double d_abs_mean_of_sequence_means = 0, d_abs_sum_of_sequence_means = 0;

  double k1 = 0, k1_reverse = 0, k2 = 0, k3 = 0, k3_reverse = 0, js_divergence = 0;
  double k1_mean_of_sequence_means = 0, k1_sum_of_sequence_means = 0;
  double k2_mean_of_sequence_means = 0, k2_sum_of_sequence_means = 0;
  double k3_mean_of_sequence_means = 0, k3_sum_of_sequence_means = 0;
  double k3_reverse_mean_of_sequence_means = 0, k3_reverse_sum_of_sequence_means = 0;
  double js_mean_of_sequence_means = 0, js_sum_of_sequence_means = 0;

  double train_log_ppl = 0, rollout_log_ppl = 0, train_ppl = 0, rollout_ppl = 0;
  double train_ppl_all_tokens = 0, rollout_ppl_all_tokens = 0;
  double log_ppl_diff = 0, log_ppl_abs_diff = 0, log_ppl_diff_max = 0, log_ppl_diff_min = 0;
  double ppl_ratio = 0, ppl_ratio_of_mean = 0;
  double chi2_token = 0, chi2_seq = 0;

  double ratio_mean = 0, ratio_min = 0, ratio_max = 0, ratio_std = 0;
  double ratio_mean_of_sequence_means = 0;
  double ratio_deviation = 0, ratio_deviation_mean_of_sequence_means = 0;
  double truncated_mean = 0, truncated_std = 0, ess = 0;
  double truncated_seq_mean = 0, truncated_seq_std = 0, truncated_seq_min = 0, truncated_seq_max = 0;
  double truncated_seq_max_deviation = 0, seq_share_above_2 = 0, seq_share_below_half = 0;

  double clip_share = 0, clip_share_high = 0, clip_share_low = 0;
  double share_above_2 = 0, share_below_half = 0, share_above_2_mean_of_sequence_means = 0;
  double share_over_ln2 = 0;
  double band_0_999_1_002 = 0, band_1_percent = 0, band_5_percent = 0, band_10_percent = 0;
  double seq_band_0_999_1_002 = 0, seq_band_1_percent = 0, seq_band_5_percent = 0, seq_band_10_percent = 0;

  double token_mult_prob_error = 0;
  double seq_mult_prob_error_mean = 0, seq_mult_prob_error_min = 0, seq_mult_prob_error_max = 0;
  double prob_diff_mean = 0, prob_diff_max = 0, prob_diff_std = 0, prob_pearson = 0;
  double seq_log_ratio_mean = 0, seq_log_ratio_min = 0, seq_log_ratio_max = 0;
  double geometric_ratio_mean = 0, geometric_ratio_min = 0, geometric_ratio_max = 0;
};

struct Metric {
  std::string_view key;      ///< snake_case, the key in reports
  std::string_view formula;  ///< one line, in the notation of Mismatch
  double Mismatch::*value;
};

/// In the order of the report.
std::span<const Metric> mismatch_metrics();

/// One element a row; rows count where `use` is not 0 and both values are finite. `sequences`: ascending
/// ranges that together cover all rows. Throws Fault::internal if lengths differ or rows are left over.
Mismatch mismatch_of(std::span<const float> train, std::span<const float> rollout,
                     std::span<const std::uint8_t> use, std::span<const Range> sequences);

/// A framework's own name for one of the numbers (or for a simple function of one, e.g. a clamp).
struct FrameworkMetric {
  std::string_view framework;  ///< verl | nemo | slime | trl | skyrl
  std::string_view name;       ///< as it stands in the framework's logs: "rollout_corr/k3_kl"
  double (*value)(const Mismatch&);
};

/// Grouped by framework. Where a framework's number depends on its own settings, those are its defaults of a
/// token-level correction with C = 2, and nothing is masked out.
std::span<const FrameworkMetric> framework_metrics();

}  // namespace drift
