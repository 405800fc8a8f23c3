#pragma once

// Order-free reductions over a block: for maxima, counts and first positions, where every order gives the
// same bits.

namespace drift::cuda {

/// op over all threads' values, on thread 0. `threads` is the block's size, a multiple of 32, at most 1024.
template <int threads, class T, class Op>
__device__ T block_reduce(T value, Op op) {
  __shared__ T of_warp[threads / 32];
  for (int apart = 16; apart > 0; apart /= 2) value = op(value, __shfl_xor_sync(~0u, value, apart));
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int warp = 1; warp < threads / 32; ++warp) value = op(value, of_warp[warp]);
  __syncthreads();  // the next reduction reuses of_warp
  return value;
}

}  // namespace drift::cuda
