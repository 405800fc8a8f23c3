// The same numbers under the names that people know from their dashboards.

#include <algorithm>
#include <array>
#include <cmath>

#include "stats/mismatch.hpp"

namespace drift {
namespace {

template <double Mismatch::*field>
double field_of(const Mismatch& m) {
  return m.*field;
}

/// verl bounds |d| by 20 before it truncates, so that its smallest weight is never below exp(-20).
double truncated_weight(double ratio) {
  return std::isnan(ratio) ? ratio : std::min(std::max(ratio, std::exp(-20.0)), 2.0);
}

template <double Mismatch::*field>
double capped(const Mismatch& m) {
  return std::isnan(m.*field) ? m.*field : std::min(m.*field, 2.0);
}

/// One sequence has no spread: verl logs 0.
double truncated_seq_std(const Mismatch& m) { return m.sequences == 1 ? 0 : m.truncated_seq_std; }

double truncated_max(const Mismatch& m) { return truncated_weight(m.ratio_max); }
double truncated_min(const Mismatch& m) { return truncated_weight(m.ratio_min); }

}  // namespace

std::span<const FrameworkMetric> framework_metrics() {
  using M = Mismatch;
  static constexpr auto all = std::to_array<FrameworkMetric>({
      {"verl", "training/rollout_probs_diff_max", field_of<&M::prob_diff_max>},
      {"verl", "training/rollout_probs_diff_mean", field_of<&M::prob_diff_mean>},
      {"verl", "training/rollout_probs_diff_std", field_of<&M::prob_diff_std>},
      {"verl", "training/rollout_actor_probs_pearson_corr", field_of<&M::prob_pearson>},
      {"verl", "training/rollout_logprobs_mismatch_count", field_of<&M::mismatch_count>},
      {"verl", "rollout_corr/training_ppl", field_of<&M::train_ppl>},
      {"verl", "rollout_corr/training_log_ppl", field_of<&M::train_log_ppl>},
      {"verl", "rollout_corr/kl", field_of<&M::k1>},
      {"verl", "rollout_corr/k3_kl", field_of<&M::k3>},
      {"verl", "rollout_corr/rollout_ppl", field_of<&M::rollout_ppl>},
      {"verl", "rollout_corr/rollout_log_ppl", field_of<&M::rollout_log_ppl>},
      {"verl", "rollout_corr/log_ppl_diff", field_of<&M::log_ppl_diff>},
      {"verl", "rollout_corr/log_ppl_abs_diff", field_of<&M::log_ppl_abs_diff>},
      {"verl", "rollout_corr/log_ppl_diff_max", field_of<&M::log_ppl_diff_max>},
      {"verl", "rollout_corr/log_ppl_diff_min", field_of<&M::log_ppl_diff_min>},
      {"verl", "rollout_corr/ppl_ratio", field_of<&M::ppl_ratio>},
      {"verl", "rollout_corr/chi2_token", field_of<&M::chi2_token>},
      {"verl", "rollout_corr/chi2_seq", field_of<&M::chi2_seq>},
      {"verl", "rollout_corr/rollout_is_mean", field_of<&M::truncated_mean>},
      {"verl", "rollout_corr/rollout_is_max", truncated_max},
      {"verl", "rollout_corr/rollout_is_min", truncated_min},
      {"verl", "rollout_corr/rollout_is_std", field_of<&M::truncated_std>},
      {"verl", "rollout_corr/rollout_is_eff_sample_size", field_of<&M::ess>},
      {"verl", "rollout_corr/rollout_is_ratio_fraction_high", field_of<&M::share_above_2>},
      {"verl", "rollout_corr/rollout_is_ratio_fraction_low", field_of<&M::share_below_half>},
      {"verl", "rollout_corr/rollout_is_seq_mean", field_of<&M::truncated_seq_mean>},
      {"verl", "rollout_corr/rollout_is_seq_std", truncated_seq_std},
      {"verl", "rollout_corr/rollout_is_seq_max", field_of<&M::truncated_seq_max>},
      {"verl", "rollout_corr/rollout_is_seq_min", field_of<&M::truncated_seq_min>},
      {"verl", "rollout_corr/rollout_is_seq_max_deviation", field_of<&M::truncated_seq_max_deviation>},
      {"verl", "rollout_corr/rollout_is_seq_fraction_high", field_of<&M::seq_share_above_2>},
      {"verl", "rollout_corr/rollout_is_seq_fraction_low", field_of<&M::seq_share_below_half>},

      {"nemo", "train/token_mult_prob_error", field_of<&M::token_mult_prob_error>},
      {"nemo", "train/gen_kl_error", field_of<&M::k3>},
      {"nemo", "train/policy_kl_error", field_of<&M::k3_reverse>},
      {"nemo", "train/js_divergence_error", field_of<&M::js_divergence>},
      {"nemo", "train/sampling_importance_ratio", field_of<&M::ratio_mean>},
      {"nemo", "train/max_seq_mult_prob_error", field_of<&M::seq_mult_prob_error_max>},
      {"nemo", "train/mean_seq_mult_prob_error", field_of<&M::seq_mult_prob_error_mean>},
      {"nemo", "train/min_seq_mult_prob_error", field_of<&M::seq_mult_prob_error_min>},

      // The loss sums means of samples; the logger divides by the number of samples.
      {"slime", "train/train_rollout_logprob_abs_diff", field_of<&M::d_abs_mean_of_sequence_means>},
      {"slime", "train/tis", field_of<&M::ratio_mean_of_sequence_means>},
      {"slime", "train/tis_abs", field_of<&M::ratio_deviation_mean_of_sequence_means>},
      {"slime", "train/tis_clipfrac", field_of<&M::share_above_2_mean_of_sequence_means>},
      {"slime", "train/ois",
       field_of<&M::ratio_mean_of_sequence_means>},  // where old log-probs are the rollout's

      {"trl", "sampling/sampling_logp_difference/mean", field_of<&M::d_abs_mean>},
      {"trl", "sampling/sampling_logp_difference/max", field_of<&M::d_abs_max>},
      // TRL caps the ratio (2 by default) before it logs it.
      {"trl", "sampling/importance_sampling_ratio/min", capped<&M::ratio_min>},
      {"trl", "sampling/importance_sampling_ratio/mean", field_of<&M::truncated_mean>},
      {"trl", "sampling/importance_sampling_ratio/max", capped<&M::ratio_max>},

      {"skyrl", "policy/rollout_train_logprobs_abs_diff_mean", field_of<&M::d_abs_mean>},
      {"skyrl", "policy/rollout_train_logprobs_abs_diff_std", field_of<&M::d_abs_std>},
      {"skyrl", "policy/rollout_train_logprobs_abs_diff_max", field_of<&M::d_abs_max>},
  });
  return all;
}

}  // namespace drift
