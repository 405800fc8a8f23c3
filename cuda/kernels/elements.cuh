#pragma once

// Stored elements from device memory to fp32 values. Addresses may have any alignment: dumps guarantee none.

#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "kernels/value_rule.hpp"
#include "kernels/views.hpp"

namespace drift::cuda {

/// How a dtype's bits are held and widened. The same values as value_rule.hpp's, in one instruction each.
template <Dtype stored>
struct Stored;

template <>
struct Stored<Dtype::BF16> {
  using Bits = std::uint16_t;
  static __device__ float widen(Bits bits) { return __uint_as_float(static_cast<std::uint32_t>(bits) << 16); }
};

template <>
struct Stored<Dtype::F16> {
  using Bits = std::uint16_t;
  static __device__ float widen(Bits bits) { return __half2float(__ushort_as_half(bits)); }
};

template <>
struct Stored<Dtype::F32> {
  using Bits = std::uint32_t;
  static __device__ float widen(Bits bits) { return __uint_as_float(bits); }
};

template <>
struct Stored<Dtype::F64> {
  using Bits = std::uint64_t;
  static __device__ float widen(Bits bits) {
    return __double2float_rn(__longlong_as_double(static_cast<long long>(bits)));
  }
};

template <Dtype stored>
using StoredBits = typename Stored<stored>::Bits;

/// The value a formula sees. `plain`: rule.is_plain() holds, nothing but widening and judging is left to do.
template <Dtype stored, bool plain>
__device__ float value(StoredBits<stored> bits, const ValueRule& rule) {
  const float widened = Stored<stored>::widen(bits);
  return plain ? judged(widened) : value_of(widened, rule);
}

inline __device__ bool is_aligned(const std::byte* at, unsigned to) {
  return (reinterpret_cast<std::uintptr_t>(at) & (to - 1)) == 0;
}

template <class Bits>
__device__ Bits load(const std::byte* at) {
  if (is_aligned(at, sizeof(Bits))) return *reinterpret_cast<const Bits*>(at);
  Bits bits = 0;
  for (unsigned i = 0; i < sizeof(Bits); ++i)
    bits |= static_cast<Bits>(static_cast<Bits>(std::to_integer<std::uint8_t>(at[i])) << (8 * i));
  return bits;
}

/// 16 bytes that are read once: they are not worth a line of the cache.
inline __device__ uint4 load_streaming(const std::byte* at) {
  return __ldcs(reinterpret_cast<const uint4*>(at));
}

/// Eight adjacent elements, in the widest loads their address allows.
template <class Bits>
__device__ void load_eight(const std::byte* at, Bits (&out)[8]) {
  constexpr int words = sizeof(Bits) * 8 / 4;
  if (is_aligned(at, 16)) {
    union {
      uint4 vectors[words / 4];
      Bits bits[8];
    } all;
#pragma unroll
    for (int i = 0; i < words / 4; ++i) all.vectors[i] = load_streaming(at + 16 * i);
#pragma unroll
    for (int i = 0; i < 8; ++i) out[i] = all.bits[i];
  } else if (is_aligned(at, 4)) {
    union {
      std::uint32_t narrow[words];
      Bits bits[8];
    } all;
#pragma unroll
    for (int i = 0; i < words; ++i) all.narrow[i] = *reinterpret_cast<const std::uint32_t*>(at + 4 * i);
#pragma unroll
    for (int i = 0; i < 8; ++i) out[i] = all.bits[i];
  } else {
#pragma unroll
    for (int i = 0; i < 8; ++i) out[i] = load<Bits>(at + i * sizeof(Bits));
  }
}

/// Calls visit(i, bits) for every element i < count that falls to this thread of `threads`, mostly eight at a
/// time.
template <class Bits, class Visit>
__device__ void visit_elements(const std::byte* row, std::int64_t count, int thread, int threads,
                               Visit visit) {
  const std::int64_t whole = count / 8;
#pragma unroll 2
  for (std::int64_t i = thread; i < whole; i += threads) {
    Bits bits[8];
    load_eight(row + i * 8 * static_cast<std::int64_t>(sizeof(Bits)), bits);
#pragma unroll
    for (int j = 0; j < 8; ++j) visit(i * 8 + j, bits[j]);
  }
  const std::int64_t tail = whole * 8 + thread;
  if (tail < count) visit(tail, load<Bits>(row + tail * static_cast<std::int64_t>(sizeof(Bits))));
}

/// Calls f(constant of `rule.stored`, constant of `rule.is_plain()`): one kernel for each.
template <class F>
void for_rule(const ValueRule& rule, F f) {
  const auto with_dtype = [&](auto stored) {
    if (rule.is_plain())
      f(stored, std::true_type{});
    else
      f(stored, std::false_type{});
  };
  switch (rule.stored) {
    case Dtype::BF16: return with_dtype(std::integral_constant<Dtype, Dtype::BF16>{});
    case Dtype::F16: return with_dtype(std::integral_constant<Dtype, Dtype::F16>{});
    case Dtype::F64: return with_dtype(std::integral_constant<Dtype, Dtype::F64>{});
    default: return with_dtype(std::integral_constant<Dtype, Dtype::F32>{});
  }
}

/// Blocks for `items` threads' work; kernels with a stride loop may get fewer than that.
inline unsigned blocks_for(std::int64_t items, int threads, std::int64_t at_most = 1 << 20) {
  const std::int64_t blocks = (items + threads - 1) / threads;
  return static_cast<unsigned>(blocks < at_most ? blocks : at_most);
}

}  // namespace drift::cuda
