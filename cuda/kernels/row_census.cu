// row_census: one block a row. Counts and a smallest column: the same in any order.

#include <cmath>
#include <limits>

#include "kernels/block_reduce.cuh"
#include "kernels/elements.cuh"
#include "kernels/launch.hpp"

namespace drift::cuda {
namespace {

constexpr int threads = 256;
constexpr std::int64_t nowhere = std::numeric_limits<std::int64_t>::max();

template <Dtype stored>
__device__ bool is_finite(StoredBits<stored> bits) {
  if constexpr (stored == Dtype::F64) return (bits & 0x7ff0000000000000u) != 0x7ff0000000000000u;
  return (__float_as_uint(Stored<stored>::widen(bits)) & 0x7f800000u) != 0x7f800000u;
}

/// True if fp32 does not hold a (finite) F64 value exactly.
template <Dtype stored>
__device__ bool is_rounded(StoredBits<stored> bits) {
  if constexpr (stored == Dtype::F64) {
    const double wide = __longlong_as_double(static_cast<long long>(bits));
    return is_finite<stored>(bits) && static_cast<double>(Stored<stored>::widen(bits)) != wide;
  }
  return false;
}

template <Dtype stored, bool plain>
__global__ void __launch_bounds__(threads)
    kernel(LogitsView logits, const std::int64_t* targets, RowCensus* out) {
  using Bits = StoredBits<stored>;
  const std::int64_t row = blockIdx.x;
  const Range real = logits.real();
  std::int64_t nonfinite = 0, masked = 0, rounded = 0;
  std::int64_t first = nowhere;  // column * 2, plus 1 for +inf: the smallest is the first and says which
  int above = 0;                 // columns above -inf, whether any

  visit_elements<Bits>(logits.row(row), real.size(), static_cast<int>(threadIdx.x), threads,
                       [&](std::int64_t i, Bits bits) {
                         const float x = value<stored, plain>(bits, logits.rule);
                         if (is_rounded<stored>(bits)) ++rounded;
                         if (isnan(x) || x == INFINITY) {
                           ++nonfinite;
                           const std::int64_t key = (real.begin + i) * 2 + (x == INFINITY ? 1 : 0);
                           first = key < first ? key : first;
                         } else if (x == -INFINITY) {
                           if (is_finite<stored>(bits)) ++masked;
                         } else {
                           above = 1;
                         }
                       });

  const auto sum = [](std::int64_t a, std::int64_t b) { return a + b; };
  RowCensus census;
  census.nonfinite = block_reduce<threads>(nonfinite, sum);
  census.masked = block_reduce<threads>(masked, sum);
  census.rounded = block_reduce<threads>(rounded, sum);
  first = block_reduce<threads>(first, [](std::int64_t a, std::int64_t b) { return a < b ? a : b; });
  above = block_reduce<threads>(above, [](int a, int b) { return a | b; });
  if (threadIdx.x != 0) return;

  const std::int64_t target = targets[row];
  if (first != nowhere) {
    census.kind = first % 2 == 1 ? BadValue::pos_inf : BadValue::nan;
    census.first_bad = first / 2;
  } else if (above == 0) {
    census.kind = BadValue::all_neg_inf;
    census.first_bad = target;
  } else if (real.contains(target)) {
    const std::byte* at = logits.row(row) + (target - real.begin) * logits.bytes_per_element();
    if (value<stored, plain>(load<Bits>(at), logits.rule) == -INFINITY) {
      census.kind = BadValue::target_neg_inf;
      census.first_bad = target;
    }
  }
  out[row] = census;
}

}  // namespace

void row_census(const LogitsView& logits, const std::int64_t* targets, RowCensus* out, cudaStream_t stream) {
  if (logits.rows == 0) return;
  for_rule(logits.rule, [&](auto stored, auto plain) {
    kernel<stored.value, plain.value>
        <<<static_cast<unsigned>(logits.rows), threads, 0, stream>>>(logits, targets, out);
  });
}

}  // namespace drift::cuda
