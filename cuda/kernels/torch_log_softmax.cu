// torch_log_softmax: torch's order and nothing but, one block of 1024 threads a row. Built with nvcc's
// default flags, as torch is. Checked bit for bit against torch 2.11 on an H200
// (tests/cuda/torch_log_softmax_test.cpp).

#include <cstdint>

#include "kernels/launch.hpp"

namespace drift::cuda {
namespace {

constexpr int threads = 1024;
constexpr int vector = 4;                            // fp32 values in torch's 16-byte vectors
constexpr std::int64_t shared_memory_vocab = 12256;  // below this torch keeps aligned rows in shared memory
constexpr float lowest = -3.402823466e38f;           // where torch's maximum starts

struct Max {
  __device__ float operator()(float sum, float x) const { return fmaxf(sum, x); }
  __device__ float combine(float a, float b) const { return a < b ? b : a; }
};

struct SumExp {
  float max;
  __device__ float operator()(float sum, float x) const { return sum + expf(x - max); }
  __device__ float combine(float a, float b) const { return a + b; }
};

template <class Op>
__device__ float fold_vector(const float* at, Op op, float sum) {
  if (reinterpret_cast<std::uintptr_t>(at) % 16 ==
      0) {  // where the row really lies need not be where torch's did
    const float4 x = *reinterpret_cast<const float4*>(at);
    return op(op(op(op(sum, x.x), x.y), x.z), x.w);
  }
#pragma unroll
  for (int j = 0; j < vector; ++j) sum = op(sum, at[j]);
  return sum;
}

/// A thread's part of the row: head, vectors, tail. `shift`: elements from a 16-byte boundary to the row in
/// torch's tensor.
template <class Op>
__device__ float fold_row(const float* row, std::int64_t size, int shift, Op op, float sum) {
  const std::int64_t thread = threadIdx.x;
  if (shift > 0) {
    row -= shift;
    size += shift;
    if (thread >= shift && thread < size) sum = op(sum, row[thread]);
    size -= threads;
    row += threads;
  }
  if (size <= 0) return sum;
  const std::int64_t tail = size % (vector * threads);
  for (std::int64_t at = thread * vector; at < size - tail; at += threads * vector)
    sum = fold_vector(row + at, op, sum);
  for (std::int64_t at = size - tail + thread; at < size; at += threads) sum = op(sum, row[at]);
  return sum;
}

/// The same where torch keeps the row in shared memory: vectors only.
template <class Op>
__device__ float fold_shared_row(const float* row, std::int64_t size, Op op, float sum) {
  for (std::int64_t at = static_cast<std::int64_t>(threadIdx.x) * vector; at < size; at += threads * vector)
    sum = fold_vector(row + at, op, sum);
  return sum;
}

template <class Op>
__device__ float fold_block(float value, Op op, float identity) {
  __shared__ float of_warp[threads / 32];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  __syncthreads();  // the last fold's result has been read by all
  for (int apart = 16; apart > 0; apart /= 2) value = op.combine(value, __shfl_down_sync(~0u, value, apart));
  if (lane == 0) of_warp[warp] = value;
  __syncthreads();
  if (warp == 0) {
    value = lane < threads / 32 ? of_warp[lane] : identity;
    for (int apart = 16; apart > 0; apart /= 2)
      value = op.combine(value, __shfl_down_sync(~0u, value, apart));
    if (lane == 0) of_warp[0] = value;
  }
  __syncthreads();
  return of_warp[0];
}

__global__ void __launch_bounds__(threads)
    kernel(const float* values, std::int64_t vocab, const std::int64_t* row_index,
           const std::int64_t* targets, RowResult out, bool shared_memory) {
  const std::int64_t r = blockIdx.x;
  const float* row = values + r * vocab;
  const int shift = static_cast<int>(row_index[r] * vocab % vector);  // a tensor starts at a 16-byte boundary
  const auto fold = [&](auto op, float start) {
    return fold_block(
        shared_memory ? fold_shared_row(row, vocab, op, start) : fold_row(row, vocab, shift, op, start), op,
        start);
  };
  const float max = fold(Max{}, lowest);
  const float sum = fold(SumExp{max}, 0.0f);
  if (threadIdx.x != 0) return;
  const float log_sum = logf(sum);
  const std::int64_t target = targets[r];
  out.lse[r] = max + log_sum;
  out.logp[r] = target < 0 ? __uint_as_float(0x7fc00000u) : (row[target] - max) - log_sum;
}

}  // namespace

void torch_log_softmax(const float* values, std::int64_t rows, std::int64_t vocab,
                       const std::int64_t* row_index, const std::int64_t* targets, RowResult out,
                       cudaStream_t stream) {
  if (rows == 0) return;
  const bool shared_memory = vocab < shared_memory_vocab && vocab % vector == 0;
  kernel<<<static_cast<unsigned>(rows), threads, 0, stream>>>(values, vocab, row_index, targets, out,
                                                              shared_memory);
}

}  // namespace drift::cuda
