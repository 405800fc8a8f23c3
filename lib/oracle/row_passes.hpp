#pragma once

// The text of RowLoops: plain loops that compilers turn into vector code. Everything is forced inline,
// because a function compiled for AVX2 may contain only code that was compiled for AVX2 with it.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "oracle/row_math.hpp"

namespace oracle {

// Rows may lie at any address.
using LooseU16 [[gnu::aligned(1), gnu::may_alias]] = std::uint16_t;
using LooseFloat [[gnu::aligned(1), gnu::may_alias]] = float;
using LooseDouble [[gnu::aligned(1), gnu::may_alias]] = double;

/// Values of columns [begin, begin + count), count <= lanes: widened, rounded, divided by the temperature.
[[gnu::always_inline]] inline void load(const Rows& rows, const void* row, std::int64_t begin, int count,
                                        float* __restrict out) {
  switch (rows.stored) {
    case Dtype::bf16: {
      const LooseU16* in = static_cast<const LooseU16*>(row) + begin;
      for (int i = 0; i < count; ++i) out[i] = from_bf16(in[i]);
      break;
    }
    case Dtype::f16: {
      const LooseU16* in = static_cast<const LooseU16*>(row) + begin;
      for (int i = 0; i < count; ++i) out[i] = from_f16(in[i]);
      break;
    }
    case Dtype::f32: {
      const LooseFloat* in = static_cast<const LooseFloat*>(row) + begin;
      for (int i = 0; i < count; ++i) out[i] = in[i];
      break;
    }
    case Dtype::f64: {
      const LooseDouble* in = static_cast<const LooseDouble*>(row) + begin;
      for (int i = 0; i < count; ++i) out[i] = static_cast<float>(in[i]);
      break;
    }
  }
  if (rows.rounded != rows.stored) {
    if (rows.rounded == Dtype::bf16)
      for (int i = 0; i < count; ++i) out[i] = on_bf16_grid(out[i]);
    if (rows.rounded == Dtype::f16)
      for (int i = 0; i < count; ++i) out[i] = on_f16_grid(out[i]);
  }
  if (rows.temperature != 1.0f)
    for (int i = 0; i < count; ++i) out[i] = out[i] / rows.temperature;
}

[[gnu::always_inline]] inline int block_size(const Rows& rows, std::int64_t begin) {
  return static_cast<int>(std::min<std::int64_t>(lanes, rows.vocab - begin));
}

[[gnu::always_inline]] inline Extent extent_of(const Rows& rows, const void* row) {
  alignas(64) float x[lanes];
  Extent extent;
  std::int32_t largest = extent.largest, magnitude = extent.magnitude;
  for (std::int64_t begin = 0; begin < rows.vocab; begin += lanes) {
    const int count = block_size(rows, begin);
    load(rows, row, begin, count, x);
    for (int i = 0; i < count; ++i) {
      const std::int32_t bits = std::bit_cast<std::int32_t>(x[i]);
      const std::int32_t size = bits & 0x7fffffff, order = size > 0x7f800000 ? extent.largest : ordered(bits);
      largest = order > largest ? order : largest;
      magnitude = size > magnitude ? size : magnitude;
    }
  }
  return {largest, magnitude};
}

[[gnu::always_inline]] inline double sum_of(const Rows& rows, const void* row, float max) {
  alignas(64) float x[lanes];
  alignas(64) double sum[lanes] = {};
  const float lowest = lowest_for(max), cut = cut_for(max);
  const double shift = static_cast<double>(max);
  for (std::int64_t begin = 0; begin < rows.vocab; begin += lanes) {
    const int count = block_size(rows, begin);
    load(rows, row, begin, count, x);
    for (int i = 0; i < count; ++i) {
      const float counted = x[i] >= cut ? x[i] : lowest;
      sum[i] += exp_fp64(static_cast<double>(counted) - shift);
    }
  }
  for (int half = lanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) sum[i] += sum[i + half];
  return sum[0];
}

}  // namespace oracle
