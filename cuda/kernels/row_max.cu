// row_max: one block a row. Judging keeps order, so the largest widened value is judged once, at the end.

#include <cmath>

#include "kernels/block_reduce.cuh"
#include "kernels/elements.cuh"
#include "kernels/launch.hpp"

namespace drift::cuda {
namespace {

constexpr int threads = 256;

template <Dtype stored, bool plain>
__global__ void __launch_bounds__(threads) kernel(LogitsView logits, float* out) {
  const std::int64_t row = blockIdx.x;
  float max = -INFINITY;
  visit_elements<StoredBits<stored>>(
      logits.row(row), logits.real().size(), static_cast<int>(threadIdx.x), threads,
      [&](std::int64_t, StoredBits<stored> bits) {
        const float widened = Stored<stored>::widen(bits);
        max = fmaxf(max, plain ? widened : divided(widened, logits.rule));  // fmaxf passes NaN over
      });
  max = block_reduce<threads>(max, [](float a, float b) { return fmaxf(a, b); });
  if (threadIdx.x == 0) out[row] = judged(max) + 0.0f;  // -0 becomes +0
}

}  // namespace

void row_max(const LogitsView& logits, float* out, cudaStream_t stream) {
  if (logits.rows == 0) return;
  for_rule(logits.rule, [&](auto stored, auto plain) {
    kernel<stored.value, plain.value>
        <<<static_cast<unsigned>(logits.rows), threads, 0, stream>>>(logits, out);
  });
}

}  // namespace drift::cuda
