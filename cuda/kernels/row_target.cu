// row_target: one thread a row.

#include "kernels/elements.cuh"
#include "kernels/launch.hpp"

namespace drift::cuda {
namespace {

constexpr int threads = 128;

template <Dtype stored, bool plain>
__global__ void kernel(LogitsView logits, const std::int64_t* targets, float* out) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (row >= logits.rows) return;
  const std::int64_t target = targets[row];
  if (!logits.real().contains(target)) {
    out[row] = 0.0f;
    return;
  }
  const std::byte* at = logits.row(row) + (target - logits.columns.begin) * logits.bytes_per_element();
  out[row] = value<stored, plain>(load<StoredBits<stored>>(at), logits.rule);
}

}  // namespace

void row_target(const LogitsView& logits, const std::int64_t* targets, float* out, cudaStream_t stream) {
  if (logits.rows == 0) return;
  for_rule(logits.rule, [&](auto stored, auto plain) {
    kernel<stored.value, plain.value>
        <<<blocks_for(logits.rows, threads, logits.rows), threads, 0, stream>>>(logits, targets, out);
  });
}

}  // namespace drift::cuda
