#pragma once

#include <cstdint>

#include "kernels/views.hpp"

namespace drift::cpu {

/// The end of Megatron-core's unfused cross entropy, row by row in fp32, each operation rounded once:
///   predicted = target - max;  log_sum = log(sum);  logp = -(log_sum - predicted);  lse = max + log_sum
/// logp of a row with targets[r] < 0 is the quiet NaN 0x7fc00000. log is the platform's (<= 1 ulp).
void row_log_prob(const float* max, const float* sum, const float* target, const std::int64_t* targets,
                  std::int64_t rows, RowResult out);

}  // namespace drift::cpu
