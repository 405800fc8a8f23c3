// row_sum_exp: one block of 64 threads a row. Thread t keeps the accumulators 8t to 8t + 7 of the 512: their
// columns are adjacent, so a round of 512 columns is one wide load a thread.

#include "kernels/elements.cuh"
#include "kernels/launch.hpp"

namespace drift::cuda {
namespace {

constexpr int threads = 64;
constexpr int accumulators = threads * 8;

template <Dtype stored, bool plain>
__global__ void __launch_bounds__(threads) kernel(LogitsView logits, const float* shifts, float* out) {
  using Bits = StoredBits<stored>;
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t row = blockIdx.x, count = logits.real().size();
  const std::byte* data = logits.row(row);
  const float shift = shifts[row];
  float a[8] = {};
#pragma unroll 2
  for (std::int64_t at = thread * 8; at < count; at += accumulators) {
    if (at + 8 <= count) {
      Bits bits[8];
      load_eight(data + at * static_cast<std::int64_t>(sizeof(Bits)), bits);
#pragma unroll
      for (int j = 0; j < 8; ++j) a[j] += expf(value<stored, plain>(bits[j], logits.rule) - shift);
    } else {
#pragma unroll
      for (int j = 0; j < 8; ++j)
        if (at + j < count)
          a[j] +=
              expf(value<stored, plain>(load<Bits>(data + (at + j) * static_cast<std::int64_t>(sizeof(Bits))),
                                        logits.rule) -
                   shift);
    }
  }

  // Folding in halves: 256 apart is 32 threads apart, then 16, 8, 4, 2, 1 threads, then within a thread.
  __shared__ float upper[accumulators / 2];
  if (thread >= 32)
    for (int j = 0; j < 8; ++j) upper[j * 32 + thread - 32] = a[j];
  __syncthreads();
  if (thread >= 32) return;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    a[j] += upper[j * 32 + thread];
    for (int apart = 16; apart > 0; apart /= 2) a[j] += __shfl_down_sync(~0u, a[j], apart);
  }
  for (int half = 4; half > 0; half /= 2)
    for (int j = 0; j < half; ++j) a[j] += a[j + half];
  if (thread == 0) out[row] = a[0];
}

}  // namespace

void row_sum_exp(const LogitsView& logits, const float* shift, float* out, cudaStream_t stream) {
  if (logits.rows == 0) return;
  for_rule(logits.rule, [&](auto stored, auto plain) {
    kernel<stored.value, plain.value>
        <<<static_cast<unsigned>(logits.rows), threads, 0, stream>>>(logits, shift, out);
  });
}

}  // namespace drift::cuda
