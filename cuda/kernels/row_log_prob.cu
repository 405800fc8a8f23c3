// row_log_prob: one thread a row.

#include <cstdint>

#include "kernels/elements.cuh"
#include "kernels/launch.hpp"

namespace drift::cuda {
namespace {

constexpr int threads = 128;

__global__ void kernel(const float* max, const float* sum, const float* target, const std::int64_t* targets,
                       std::int64_t rows, RowResult out) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (row >= rows) return;
  const float predicted = target[row] - max[row];
  const float log_sum = logf(sum[row]);
  out.lse[row] = max[row] + log_sum;
  out.logp[row] = targets[row] < 0 ? __uint_as_float(0x7fc00000u) : -(log_sum - predicted);
}

}  // namespace

void row_log_prob(const float* max, const float* sum, const float* target, const std::int64_t* targets,
                  std::int64_t rows, RowResult out, cudaStream_t stream) {
  if (rows == 0) return;
  kernel<<<blocks_for(rows, threads, rows), threads, 0, stream>>>(max, sum, target, targets, rows, out);
}

}  // namespace drift::cuda
