#pragma once

// One tile of the fixed tree on a CPU: plain loops that vectorise. Each instruction set's file inlines them
// into one function of its own target; all give the same bits, because each loop is the arithmetic of
// fixed_tree.hpp.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "kernels/fixed_tree.hpp"
#include "kernels/read_values.hpp"
#include "kernels/tree_plan.hpp"

namespace drift::cpu {

inline constexpr std::int64_t tile_columns = std::int64_t{1} << tile_level;

/// Room for a tile's values and the first levels of its tree.
struct TileScratch {
  alignas(64) float values[tile_columns];
  alignas(64) float sums[tile_columns / 2];
  alignas(64) float sums_of_sums[tile_columns / 4];
  alignas(64) float s[tile_columns], half_s[tile_columns / 2];  // nodes with exponents of their own
  alignas(64) std::int32_t n[tile_columns], half_n[tile_columns / 2];
  bool expect_small = true;  // no tile of this row so far needed more than scale 0
};

/// One level of the tree: out[i] = in[2i] + in[2i + 1].
inline void add_neighbours(const float* __restrict in, std::int64_t half, float* __restrict out) {
  for (std::int64_t i = 0; i < half; ++i) out[i] = in[2 * i] + in[2 * i + 1];
}

/// Three levels at once: out[i] = tree over in[8i, 8i + 8). `count` (of outputs) is a multiple of 4. Four
/// outputs are four vectors that shuffle within their halves only, which is what x86 does fast.
inline void add_eights(const float* __restrict in, std::int64_t count, float* __restrict out) {
  using Eight [[gnu::vector_size(32)]] = float;
  using Four [[gnu::vector_size(16)]] = float;
  for (std::int64_t i = 0; i < count; i += 4) {
    Eight a, b, c, d;
    std::memcpy(&a, in + 8 * i, 32);
    std::memcpy(&b, in + 8 * i + 8, 32);
    std::memcpy(&c, in + 8 * i + 16, 32);
    std::memcpy(&d, in + 8 * i + 24, 32);
    // a01 a23 b01 b23 | a45 a67 b45 b67, and likewise c and d
    const Eight ab = __builtin_shufflevector(a, b, 0, 2, 8, 10, 4, 6, 12, 14) +
                     __builtin_shufflevector(a, b, 1, 3, 9, 11, 5, 7, 13, 15);
    const Eight cd = __builtin_shufflevector(c, d, 0, 2, 8, 10, 4, 6, 12, 14) +
                     __builtin_shufflevector(c, d, 1, 3, 9, 11, 5, 7, 13, 15);
    // a0123 b0123 c0123 d0123 | a4567 b4567 c4567 d4567
    const Eight halves = __builtin_shufflevector(ab, cd, 0, 2, 8, 10, 4, 6, 12, 14) +
                         __builtin_shufflevector(ab, cd, 1, 3, 9, 11, 5, 7, 13, 15);
    const Four sums = __builtin_shufflevector(halves, halves, 0, 1, 2, 3) +
                      __builtin_shufflevector(halves, halves, 4, 5, 6, 7);
    std::memcpy(out + i, &sums, 16);
  }
}

/// The tree over scratch.sums[0, count): what lies beyond up to a power of two is zero.
inline float fold_sums(TileScratch& scratch, std::int64_t count) {
  std::int64_t width =
      std::max(std::int64_t{32}, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(count))));
  std::fill(scratch.sums + count, scratch.sums + width, 0.0f);
  width /= 8;
  add_eights(scratch.sums, width, scratch.sums_of_sums);
  for (; width >= 4; width /= 4) {
    add_neighbours(scratch.sums_of_sums, width / 2, scratch.sums);
    add_neighbours(scratch.sums, width / 4, scratch.sums_of_sums);
  }
  return width == 2 ? scratch.sums_of_sums[0] + scratch.sums_of_sums[1] : scratch.sums_of_sums[0];
}

/// fp32 bits as integers in the order of the numbers; NaNs lie outside both infinities. Its own inverse.
inline std::int32_t ordered(std::int32_t bits) { return bits ^ ((bits >> 31) & 0x7fffffff); }
inline std::int32_t ordered(float x) { return ordered(std::bit_cast<std::int32_t>(x)); }

/// One level of the tree of nodes with exponents of their own.
inline void merge_neighbours(const float* __restrict s, const std::int32_t* __restrict n, std::int64_t half,
                             float* __restrict out_s, std::int32_t* __restrict out_n) {
  for (std::int64_t i = 0; i < half; ++i) {
    const TreeValue sum = fixed_tree::merge({s[2 * i], n[2 * i]}, {s[2 * i + 1], n[2 * i + 1]});
    out_s[i] = sum.s;
    out_n[i] = sum.n;
  }
}

/// The common scale of x[0, count), leaves that are zero left out.
inline fixed_tree::TileScale scale_of(const float* x, std::int64_t count) {
  const std::int32_t floor = ordered(-fixed_tree::leaf_limit);
  std::uint32_t low = ~0u;  // above the floor; what lies below it wraps round to more than any number
  std::int32_t high = floor - 1;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int32_t key = ordered(x[i]);
    low = std::min(low, static_cast<std::uint32_t>(key) - static_cast<std::uint32_t>(floor));
    high = std::max(high, key);
  }
  if (high < floor) return {true, 0};  // no leaf but zeros
  const std::int32_t lowest = static_cast<std::int32_t>(low + static_cast<std::uint32_t>(floor));
  return fixed_tree::tile_scale(std::bit_cast<float>(ordered(lowest)), std::bit_cast<float>(ordered(high)));
}

/// A tile whose leaves lie too far apart for one scale: every leaf and every sum with its own exponent.
inline TreeValue sum_exactly(TileScratch& scratch, std::int64_t count) {
  const float* x = scratch.values;
  for (std::int64_t i = 0; i < count; ++i) {
    const TreeValue leaf = fixed_tree::moderate_leaf(x[i]);
    scratch.s[i] = leaf.s;
    scratch.n[i] = leaf.n;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    if (x[i] >= -fixed_tree::fp32_leaf_limit && x[i] <= fixed_tree::fp32_leaf_limit) continue;
    const TreeValue leaf = fixed_tree::leaf(x[i]);
    scratch.s[i] = leaf.s;
    scratch.n[i] = leaf.n;
  }
  std::int64_t width = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(count)));
  std::fill(scratch.s + count, scratch.s + width, 0.0f);
  std::fill(scratch.n + count, scratch.n + width, 0);
  for (; width >= 4; width /= 4) {
    merge_neighbours(scratch.s, scratch.n, width / 2, scratch.half_s, scratch.half_n);
    merge_neighbours(scratch.half_s, scratch.half_n, width / 4, scratch.s, scratch.n);
  }
  const TreeValue first{scratch.s[0], scratch.n[0]};
  return width == 2 ? fixed_tree::merge(first, {scratch.s[1], scratch.n[1]}) : first;
}

/// The tree over scratch.values[0, count), 0 < count <= tile_columns.
inline TreeValue sum_tile(TileScratch& scratch, std::int64_t count) {
  const float* x = scratch.values;
  const fixed_tree::TileScale scale = scale_of(x, count);
  if (!scale.shared) return sum_exactly(scratch, count);
  const float magic = fixed_tree::scale_magic(scale.n);
  for (std::int64_t i = 0; i < count / 2; ++i)
    scratch.sums[i] = fixed_tree::scaled_leaf_or_zero(x[2 * i], magic) +
                      fixed_tree::scaled_leaf_or_zero(x[2 * i + 1], magic);
  if (count % 2 != 0) scratch.sums[count / 2] = fixed_tree::scaled_leaf_or_zero(x[count - 1], magic);
  return fixed_tree::normalised(fold_sums(scratch, (count + 1) / 2), scale.n);
}

// The common case in one pass over the stored bits: all values small enough for scale 0. Whether they are is
// known only when the leaves are done; a tile where they are not starts over, and its row does not try again.
// The test adds to each magnitude's bits (which order like magnitudes) what carries into the sign bit if the
// magnitude is above tile_symmetric_limit.

/// One stored value of either kind below.
inline float small_leaf(float x) { return fixed_tree::scaled_leaf(x, fixed_tree::round_magic); }

/// bf16: two neighbours are one 32-bit word, whose halves are already fp32 bits.
inline bool sum_small_bf16(const std::byte* data, std::int64_t count, TileScratch& scratch, TreeValue& sum) {
  constexpr std::uint32_t carry =
      0x7fffu - (std::bit_cast<std::uint32_t>(fixed_tree::tile_symmetric_limit) >> 16);
  std::uint32_t above = 0;
  for (std::int64_t i = 0; i < count / 2; ++i) {
    const std::uint32_t pair = load<std::uint32_t>(data, i);
    above |= (pair & 0x7fff7fffu) + (carry << 16 | carry);
    scratch.sums[i] =
        small_leaf(std::bit_cast<float>(pair << 16)) + small_leaf(std::bit_cast<float>(pair & 0xffff0000u));
  }
  if (count % 2 != 0) {
    const std::uint16_t last = load<std::uint16_t>(data, count - 1);
    above |= (last & 0x7fffu) + carry;
    scratch.sums[count / 2] = small_leaf(widen_bf16(last));
  }
  if ((above & 0x80008000u) != 0) return false;
  sum = fixed_tree::normalised(fold_sums(scratch, (count + 1) / 2), 0);
  return true;
}

inline bool sum_small_f32(const std::byte* data, std::int64_t count, TileScratch& scratch, TreeValue& sum) {
  constexpr std::uint32_t carry =
      0x7fffffffu - std::bit_cast<std::uint32_t>(fixed_tree::tile_symmetric_limit);
  std::uint32_t above = 0;
  for (std::int64_t i = 0; i < count / 2; ++i) {
    const std::uint32_t first = load<std::uint32_t>(data, 2 * i),
                        second = load<std::uint32_t>(data, 2 * i + 1);
    above |= ((first & 0x7fffffffu) + carry) | ((second & 0x7fffffffu) + carry);
    scratch.sums[i] = small_leaf(std::bit_cast<float>(first)) + small_leaf(std::bit_cast<float>(second));
  }
  if (count % 2 != 0) {
    const std::uint32_t last = load<std::uint32_t>(data, count - 1);
    above |= (last & 0x7fffffffu) + carry;
    scratch.sums[count / 2] = small_leaf(std::bit_cast<float>(last));
  }
  if ((above & 0x80000000u) != 0) return false;
  sum = fixed_tree::normalised(fold_sums(scratch, (count + 1) / 2), 0);
  return true;
}

/// The tree over `count` stored values.
inline TreeValue sum_stored_tile(const ValueRule& rule, const std::byte* data, std::int64_t count,
                                 TileScratch& scratch) {
  TreeValue sum;
  if (rule.is_plain() && scratch.expect_small) {
    if (rule.stored == Dtype::BF16 && sum_small_bf16(data, count, scratch, sum)) return sum;
    if (rule.stored == Dtype::F32 && sum_small_f32(data, count, scratch, sum)) return sum;
    scratch.expect_small = false;
  }
  read_unjudged(rule, data, count, scratch.values);  // leaves judge for themselves
  return sum_tile(scratch, count);
}

}  // namespace drift::cpu
