// The oracle on a GPU: one block per row, the CPU's order of summation and so its bits. Memory checks,
// reductions and error codes are its own: candidates' device code is not used, on purpose.

#include <cuda_runtime_api.h>

#include <cstddef>

#include "oracle/oracle.hpp"
#include "oracle/row_math.hpp"

namespace oracle {
namespace {

constexpr int threads = lanes / 2;  // each owns sums t and t + lanes/2

template <Dtype stored>
__device__ float load(const Rows& rows, std::int64_t i) {
  float x;
  if constexpr (stored == Dtype::bf16) x = from_bf16(static_cast<const std::uint16_t*>(rows.logits)[i]);
  if constexpr (stored == Dtype::f16) x = from_f16(static_cast<const std::uint16_t*>(rows.logits)[i]);
  if constexpr (stored == Dtype::f32) x = static_cast<const float*>(rows.logits)[i];
  if constexpr (stored == Dtype::f64) x = static_cast<float>(static_cast<const double*>(rows.logits)[i]);
  if (rows.rounded != stored) {
    if (rows.rounded == Dtype::bf16) x = on_bf16_grid(x);
    if (rows.rounded == Dtype::f16) x = on_f16_grid(x);
  }
  return rows.temperature == 1.0f ? x : x / rows.temperature;
}

template <Dtype stored>
__device__ Extent extent_of(const Rows& rows, std::int64_t first) {
  __shared__ Extent shared[threads];
  Extent mine;
  const std::int32_t nothing = mine.largest;
#pragma unroll 8
  for (std::int64_t v = threadIdx.x; v < rows.vocab; v += threads) {
    const std::int32_t bits = std::bit_cast<std::int32_t>(load<stored>(rows, first + v));
    const std::int32_t size = bits & 0x7fffffff;
    mine.largest = max(mine.largest, size > 0x7f800000 ? nothing : ordered(bits));
    mine.magnitude = max(mine.magnitude, size);
  }
  shared[threadIdx.x] = mine;
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < half) {
      const Extent other = shared[threadIdx.x + half];
      mine = {max(mine.largest, other.largest), max(mine.magnitude, other.magnitude)};
      shared[threadIdx.x] = mine;
    }
  }
  __syncthreads();
  const Extent all = shared[0];
  __syncthreads();  // before the next row writes there
  return all;
}

/// Thread 0 has the sum.
template <Dtype stored>
__device__ double sum_of(const Rows& rows, std::int64_t first, float max) {
  __shared__ double shared[threads];
  const float lowest = lowest_for(max), cut = cut_for(max);
  const double shift = static_cast<double>(max);
  const auto term = [&](std::int64_t v) {
    const float x = load<stored>(rows, first + v);
    return exp_fp64(static_cast<double>(x >= cut ? x : lowest) - shift);
  };
  double low = 0.0, high = 0.0;
  std::int64_t v = threadIdx.x;
#pragma unroll 4
  for (; v + threads < rows.vocab; v += lanes) {
    low += term(v);
    high += term(v + threads);
  }
  if (v < rows.vocab) low += term(v);
  double mine = low + high;
  shared[threadIdx.x] = mine;
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < half) {
      mine += shared[threadIdx.x + half];
      shared[threadIdx.x] = mine;
    }
  }
  __syncthreads();
  return mine;
}

template <Dtype stored>
__global__ void __launch_bounds__(threads) one_row_per_block(Rows rows, float* lse, float* logp) {
  for (std::int64_t r = blockIdx.x; r < rows.rows; r += gridDim.x) {
    const std::int64_t first = r * rows.pitch;
    const Extent extent = extent_of<stored>(rows, first);
    RowValues values{quiet_nan(), quiet_nan()};
    if (extent.countable()) {  // the same for the whole block
      const double sum = sum_of<stored>(rows, first, extent.max());
      if (threadIdx.x == 0) {
        const std::int64_t t = rows.targets[r];
        values =
            finish(extent.max(), sum, t >= 0 && t < rows.vocab ? load<stored>(rows, first + t) : quiet_nan());
      }
    }
    if (threadIdx.x == 0) {
      lse[r] = values.lse;
      logp[r] = values.logp;
    }
  }
}

}  // namespace

int log_prob_cuda(const Rows& rows, float* lse, float* logp, void* stream) {
  if (rows.rows == 0) return cudaSuccess;
  constexpr std::int64_t most_blocks = 1 << 20;
  const dim3 blocks(static_cast<unsigned>(rows.rows < most_blocks ? rows.rows : most_blocks));
  const auto queue = static_cast<cudaStream_t>(stream);
  switch (rows.stored) {
    case Dtype::bf16: one_row_per_block<Dtype::bf16><<<blocks, threads, 0, queue>>>(rows, lse, logp); break;
    case Dtype::f16: one_row_per_block<Dtype::f16><<<blocks, threads, 0, queue>>>(rows, lse, logp); break;
    case Dtype::f32: one_row_per_block<Dtype::f32><<<blocks, threads, 0, queue>>>(rows, lse, logp); break;
    case Dtype::f64: one_row_per_block<Dtype::f64><<<blocks, threads, 0, queue>>>(rows, lse, logp); break;
  }
  return cudaGetLastError();
}

}  // namespace oracle
