#include "kernels/row_log_prob.hpp"

#include <cmath>
#include <limits>

namespace drift::cpu {

void row_log_prob(const float* max, const float* sum, const float* target, const std::int64_t* targets,
                  std::int64_t rows, RowResult out) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const float predicted = target[r] - max[r];
    const float log_sum = std::log(sum[r]);
    out.lse[r] = max[r] + log_sum;
    out.logp[r] = targets[r] < 0 ? std::numeric_limits<float>::quiet_NaN() : -(log_sum - predicted);
  }
}

}  // namespace drift::cpu
