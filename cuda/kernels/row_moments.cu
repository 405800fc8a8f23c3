// row_moments: one block of 64 threads a row, two sweeps. In the second, thread t keeps the accumulators 8t
// to 8t + 7 of the 512: their columns are adjacent, so a round of 512 columns is one wide load a thread.

#include <cmath>

#include "kernels/elements.cuh"
#include "kernels/launch.hpp"
#include "kernels/moment_math.hpp"

namespace drift::cuda {
namespace {

constexpr int threads = moments::lanes / 8;

/// The largest value so far and the lowest column, from the shard's first, that holds it.
struct Largest {
  float value = -INFINITY;
  std::int64_t at = -1;
};

/// Order-free: of equal values the lower column, of which every thread has its own.
struct Larger {
  __device__ Largest operator()(Largest a, Largest b) const {
    if (a.value != b.value) return a.value > b.value ? a : b;
    return static_cast<std::uint64_t>(a.at) < static_cast<std::uint64_t>(b.at) ? a : b;  // -1 is the highest
  }
};

__device__ Largest shfl(Largest x, int apart) {
  return {__shfl_xor_sync(~0u, x.value, apart), __shfl_xor_sync(~0u, x.at, apart)};
}

/// The whole block's largest, on every thread.
__device__ Largest largest_of_block(Largest mine) {
  __shared__ float value_of_warp[threads / 32];
  __shared__ std::int64_t at_of_warp[threads / 32];
  const Larger larger;
  for (int apart = 16; apart > 0; apart /= 2) mine = larger(mine, shfl(mine, apart));
  if (threadIdx.x % 32 == 0) {
    value_of_warp[threadIdx.x / 32] = mine.value;
    at_of_warp[threadIdx.x / 32] = mine.at;
  }
  __syncthreads();
  for (int warp = 0; warp < threads / 32; ++warp)
    mine = larger(mine, {value_of_warp[warp], at_of_warp[warp]});
  return mine;
}

/// The block's accumulators folded in halves, on thread 0: 256 apart is 32 threads apart, then 16, 8, 4, 2, 1
/// threads, then within a thread. `upper` has room for half of them.
__device__ double folded(double (&a)[8], double* upper) {
  const int thread = static_cast<int>(threadIdx.x);
  __syncthreads();  // the sum before this one has been read
  if (thread >= 32)
    for (int j = 0; j < 8; ++j) upper[j * 32 + thread - 32] = a[j];
  __syncthreads();
  if (thread >= 32) return 0.0;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    a[j] += upper[j * 32 + thread];
    for (int apart = 16; apart > 0; apart /= 2) a[j] += __shfl_down_sync(~0u, a[j], apart);
  }
  for (int half = 4; half > 0; half /= 2)
    for (int j = 0; j < half; ++j) a[j] += a[j + half];
  return a[0];
}

template <Dtype stored, bool plain>
__global__ void __launch_bounds__(threads) kernel(LogitsView logits, RowMoments* out) {
  using Bits = StoredBits<stored>;
  constexpr auto size = static_cast<std::int64_t>(sizeof(Bits));
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t row = blockIdx.x, count = logits.real().size();
  const std::byte* data = logits.row(row);

  Largest mine;
  visit_elements<Bits>(data, count, thread, threads, [&](std::int64_t i, Bits bits) {
    const float x = value<stored, plain>(bits, logits.rule);
    if (x > mine.value) mine = {x, i};  // a thread's columns come in ascending order; NaN is passed over
  });
  const Largest largest = largest_of_block(mine);
  if (largest.at < 0) {
    if (thread == 0) out[row] = moments::finished({}, -INFINITY, -1, 0.0f, logits.rule);
    return;
  }

  const double max = static_cast<double>(largest.value);
  double sum[8] = {}, first[8] = {}, square[8] = {}, noise[8] = {};
  const auto add = [&](int j, Bits bits, bool is_largest) {
    const float x = value<stored, plain>(bits, logits.rule);
    const moments::Term term = moments::term_of(is_largest ? -INFINITY : x, max);
    const double root =
        term.e * moments::power_of_two(Stored<stored>::widen(bits), moments::least_power(stored));
    sum[j] += term.e;
    first[j] = __builtin_fma(term.e, term.d, first[j]);
    square[j] = __builtin_fma(term.e, term.e, square[j]);
    noise[j] = __builtin_fma(root, root, noise[j]);
  };
  for (std::int64_t at = thread * 8; at < count; at += moments::lanes) {
    const std::int64_t largest_here = largest.at - at;
    if (at + 8 <= count) {
      Bits bits[8];
      load_eight(data + at * size, bits);
#pragma unroll
      for (int j = 0; j < 8; ++j) add(j, bits[j], j == largest_here);
    } else {
#pragma unroll
      for (int j = 0; j < 8; ++j)
        if (at + j < count) add(j, load<Bits>(data + (at + j) * size), j == largest_here);
    }
  }

  __shared__ double upper[moments::lanes / 2];
  moments::Sums tail;
  tail.sum = folded(sum, upper);
  tail.first = folded(first, upper);
  tail.square = folded(square, upper);
  tail.noise = folded(noise, upper);
  if (thread != 0) return;
  const float widened = Stored<stored>::widen(load<Bits>(data + largest.at * size));
  out[row] = moments::finished(tail, largest.value, logits.real().begin + largest.at, widened, logits.rule);
}

}  // namespace

void row_moments(const LogitsView& logits, RowMoments* out, cudaStream_t stream) {
  if (logits.rows == 0) return;
  for_rule(logits.rule, [&](auto stored, auto plain) {
    kernel<stored.value, plain.value>
        <<<static_cast<unsigned>(logits.rows), threads, 0, stream>>>(logits, out);
  });
}

}  // namespace drift::cuda
