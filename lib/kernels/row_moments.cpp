#include "kernels/row_moments.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/instruction_set.hpp"
#include "kernels/moment_math.hpp"

namespace drift {

RowSpread spread_of(const RowMoments& moments, float target_value, float target_ulp) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (moments.argmax < 0 || !(moments.sum >= 1.0)) return {nan, nan, nan, nan};
  const double sum = moments.sum, max = static_cast<double>(moments.max);
  const double log_sum = moments::log_of_positive(sum);
  RowSpread out;
  out.lse = max + log_sum;
  out.entropy = log_sum - moments.first / sum;
  out.sum_p2 = moments.square / (sum * sum);
  out.sigma = nan;
  if (!std::isfinite(target_value)) return out;

  const double u = static_cast<double>(target_ulp);
  double own = 0, others = 0;  // (1 - p_t) u_t, and the rest of 12 sigma^2
  if (target_value >= moments.max) {
    own = moments.tail / sum * u;
    others = moments.tail_noise / (sum * sum);
  } else {
    const double p = moments::term_of(target_value, max).e / sum;
    own = (1.0 - p) * u;
    others = std::max(0.0, moments.noise / (sum * sum) - p * p * (u * u));
  }
  out.sigma = std::sqrt((own * own + others) / 12.0);
  return out;
}

float ulp_of(Dtype stored, float widened) {
  if (!std::isfinite(widened)) return 0.0f;
  return static_cast<float>(moments::power_of_two(widened, moments::least_power(stored)) *
                            moments::relative_step(stored));
}

namespace cpu {

void row_moments(const LogitsView& logits, RowMoments* out) {
  best_instruction_set().row_moments(logits, out);
}

}  // namespace cpu
}  // namespace drift
