#pragma once

// The arithmetic of fixed-tree: one text that g++ (-ffp-contract=off) and nvcc (--expt-relaxed-constexpr
// -fmad=false) compile to the same IEEE operations, so that every backend and every instruction set gives the
// same bits.
//
// Formula  LSE = log sum_v exp(x_v). A leaf is exp(x) = 2^(x log2 e) as s * 2^n, s in [1, 2) fp32, n an
// integer of its own. Order    a binary tree over columns in natural order: node (j, k) is the sum of (j-1,
// 2k) and (j-1, 2k+1). Each sum is
//          rounded once to 24 bits, ties to even, with an unbounded exponent: nothing underflows or
//          overflows.
// -inf     is the identity, as are columns of padding. NaN and +inf give some value (their rows are left
// out), never UB. Bound    a leaf is within 1.7 * 2^-24 of exp(x), relatively; each level of the tree adds at
// most 2^-24.
//          |LSE64 - LSE| <= (ceil(log2 V) + 2) * 2^-24; fp32(LSE64) adds half an ulp.

#include <bit>
#include <cstdint>
#include <limits>

#include "kernels/tree_value.hpp"

namespace drift::fixed_tree {

// log2 e = log2e_high + log2e_low to 2^-53. The low part is never dropped: it is 1.3e-8 * |x| of a log-prob.
inline constexpr float log2e_high = 0x1.715476p+0f;
inline constexpr float log2e_low = 0x1.4ae0bep-26f;

/// fp32 in [2^23, 2^24) has an ulp of 1: adding this rounds to an integer, which the low bits of the sum then
/// hold.
inline constexpr float round_magic = 12582912.0f;

inline constexpr float fp32_leaf_limit = 0x1p16f;  ///< larger |x| takes the fp64 reduction
inline constexpr float leaf_limit = 0x1p30f;       ///< below the negative of it x counts as -inf

/// 2^r for |r| <= 1/2 and a little: polynomial error 2^-28.5, in [0.7, 1.42].
constexpr float exp2_of_fraction(float r) {
  float p = 0x1.470b48p-13f;
  p = __builtin_fmaf(p, r, 0x1.5f7276p-10f);
  p = __builtin_fmaf(p, r, 0x1.3b270ep-7f);
  p = __builtin_fmaf(p, r, 0x1.c6ae72p-5f);
  p = __builtin_fmaf(p, r, 0x1.ebfbe2p-3f);
  p = __builtin_fmaf(p, r, 0x1.62e432p-1f);
  return __builtin_fmaf(p, r, 1.0f);
}

/// s * 2^n with s brought into [1, 2); zero for s = 0. s: any non-negative normal fp32.
constexpr TreeValue normalised(float s, std::int32_t n) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(s);
  const float significand = std::bit_cast<float>((bits & 0x007fffffu) | 0x3f800000u);
  const std::int32_t exponent =
      static_cast<std::int32_t>(static_cast<std::uint32_t>(n) + (bits >> 23) - 127u);
  return {bits == 0 ? 0.0f : significand, bits == 0 ? 0 : exponent};
}

// ---- Leaves

/// The integer nearest x * log2 e: the power of two of x's leaf. |x| <= 2^16; never falls as x rises.
constexpr std::int32_t leaf_exponent(float x) {
  const float t = __builtin_fmaf(x, log2e_high, round_magic);
  return static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(t) -
                                   std::bit_cast<std::uint32_t>(round_magic));
}

/// exp(x), normalised, for |x| <= 2^16.
constexpr TreeValue moderate_leaf(float x) {
  const float t = __builtin_fmaf(x, log2e_high, round_magic);
  const float n = t - round_magic;
  const float r = __builtin_fmaf(x, log2e_low, __builtin_fmaf(x, log2e_high, -n));
  return normalised(exp2_of_fraction(r), leaf_exponent(x));
}

/// exp(x), normalised, with an exponent of its own: what every shortcut below must equal. Zero for x < -2^30.
constexpr TreeValue leaf(float x) {
  if (!(x >= -leaf_limit && x <= leaf_limit))
    return {};  // masks, -inf; also NaN and +inf, whose rows do not count
  if (x >= -fp32_leaf_limit && x <= fp32_leaf_limit) return moderate_leaf(x);
  const double y = static_cast<double>(x) * 0x1.7154765p+0;  // 24 by 29 bits: exact
  const double z = static_cast<double>(x) * 0x1.5c17f0bbbe88p-31;
  const double n = ((y + z) + 0x1.8p52) - 0x1.8p52;  // to the nearest integer, ties to even
  const float r = static_cast<float>((y - n) + z);
  return normalised(exp2_of_fraction(r), static_cast<std::int32_t>(n));
}

// A tile (at most 2^tile_level columns) may add its leaves in plain fp32 at one common power 2^N, because a
// sum rounds alike at every scale as long as nothing becomes subnormal or overflows. With every leaf's n in
//     N - 125 <= n <= N + 110
// the smallest term is 0.7 * 2^-125 (the polynomial reaches below 1, so n = N - 126 would be subnormal), and
// 2048 times the largest is 1.42 * 2^121. Inside that range the choice of N changes no bit of the normalised
// sum.
inline constexpr std::int32_t tile_reach_below = 125;
inline constexpr std::int32_t tile_reach_above = 110;

/// |x| up to this may always use N = 0 (n from -110 to 110).
inline constexpr float tile_symmetric_limit = 76.0f;

/// How a tile adds up.
struct TileScale {
  bool shared = false;  ///< false: no common N will do, add leaf by leaf
  std::int32_t n = 0;   ///< N
};

/// The scale for a tile whose leaves, those below -2^30 left out, lie in [min, max]. A tile without leaves
/// has min > max.
constexpr TileScale tile_scale(float min, float max) {
  if (!(min <= max)) return {true, 0};
  if (!(min >= -fp32_leaf_limit && max <= fp32_leaf_limit)) return {};
  const std::int32_t lowest = leaf_exponent(min), highest = leaf_exponent(max);
  if (lowest >= -tile_reach_below && highest <= tile_reach_above) return {true, 0};
  return {lowest >= highest - tile_reach_below, highest};
}

/// The constant that scaled_leaf takes for N.
constexpr float scale_magic(std::int32_t n) { return round_magic - static_cast<float>(n); }

/// exp(x) * 2^-N for magic = scale_magic(N), x within reach of N: the exponent is added as an integer.
constexpr float scaled_leaf(float x, float magic) {
  const float t = __builtin_fmaf(x, log2e_high, magic);
  const float n = t - magic;
  const float r = __builtin_fmaf(x, log2e_low, __builtin_fmaf(x, log2e_high, -n));
  const float p = exp2_of_fraction(r);
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(p) + (std::bit_cast<std::uint32_t>(t) << 23));
}

/// The same for a tile with masks among its leaves: those are zero.
constexpr float scaled_leaf_or_zero(float x, float magic) {
  const float value = scaled_leaf(x, magic);
  return x >= -leaf_limit ? value : 0.0f;
}

// ---- Nodes

/// a + b, rounded once to 24 bits, ties to even, whatever the exponents. Both normalised; so is the sum. No
/// branches.
constexpr TreeValue merge(TreeValue a, TreeValue b) {
  const bool b_is_high = (a.n < b.n || a.s == 0.0f) && b.s != 0.0f;
  const TreeValue high = b_is_high ? b : a, low = b_is_high ? a : b;
  const std::uint32_t apart = static_cast<std::uint32_t>(high.n) - static_cast<std::uint32_t>(low.n);
  // From 25 on, low is below half an ulp of high. (If low is zero, `apart` says nothing, and either case adds
  // zero.)
  const float scale = apart < 25u ? std::bit_cast<float>((127u - apart) << 23) : 0.0f;
  const float sum = high.s + low.s * scale;  // the product is exact, the sum below 4
  const bool carry = sum >= 2.0f;
  return {carry ? sum * 0.5f : sum, high.n + (carry ? 1 : 0)};
}

/// Folds nodes that come in column order: whenever the last two are siblings, their parent takes their place.
/// Makes a subtree from its tiles and the root from all ranks' subtrees.
class Fold {
 public:
  /// (level, index) covers columns [index << level, (index + 1) << level) and begins where the last one
  /// ended.
  constexpr void push(std::int32_t level, std::int64_t index, TreeValue value) {
    while (depth_ > 0 && level_[depth_ - 1] == level && index_[depth_ - 1] == index - 1 && (index & 1) != 0) {
      value = merge(value_[depth_ - 1], value);
      --depth_;
      ++level;
      index >>= 1;
    }
    level_[depth_] = level;
    index_[depth_] = index;
    value_[depth_] = value;
    ++depth_;
  }

  /// The sum of all, where what the nodes lack on the right is zero (columns of padding). Empties the fold.
  constexpr TreeValue finish() {
    TreeValue sum{};
    while (depth_ > 0) sum = merge(value_[--depth_], sum);
    return sum;
  }

 private:
  // Nodes that wait have levels that first rise, then fall: at most 2 * log2 V of them, and V is at most
  // 2^32.
  static constexpr int capacity = 66;
  TreeValue value_[capacity]{};
  std::int64_t index_[capacity]{};
  std::int32_t level_[capacity]{};
  int depth_ = 0;
};

// ---- The end

// ln 2 = ln2_high + ln2_low to 2^-107.
inline constexpr double ln2_high = 0x1.62e42fefa39efp-1;
inline constexpr double ln2_low = 0x1.abc9e3b39803fp-56;

/// log s for s in [1, 2), error <= 2^-48 (measured 2^-51.9 over all 2^23 values); log 1 is exactly 0.
/// s above sqrt 2 is halved; then log(1 + u) = u * q(u), q the Chebyshev interpolant of degree 18 of log(1 +
/// u) / u on [sqrt(1/2) - 1, sqrt(2) - 1], by Horner's rule: the interpolant is within 2^-52.8.
constexpr double log_of_significand(float s) {
  const bool halve = s > 0x1.6a09e6p+0f;
  const double u = static_cast<double>(halve ? s * 0.5f : s) - 1.0;
  double q = 0x1.ea1f67f905749p-6;
  q = __builtin_fma(q, u, -0x1.0e98e2f6196a3p-4);
  q = __builtin_fma(q, u, 0x1.227d22feca091p-4);
  q = __builtin_fma(q, u, -0x1.03a806343966bp-4);
  q = __builtin_fma(q, u, 0x1.092646c0ebbc0p-4);
  q = __builtin_fma(q, u, -0x1.22ea4afee4af9p-4);
  q = __builtin_fma(q, u, 0x1.3bb16646e15d8p-4);
  q = __builtin_fma(q, u, -0x1.558447ee75e12p-4);
  q = __builtin_fma(q, u, 0x1.7456903f23be8p-4);
  q = __builtin_fma(q, u, -0x1.9997078eac01cp-4);
  q = __builtin_fma(q, u, 0x1.c71c951a2eb08p-4);
  q = __builtin_fma(q, u, -0x1.000009bc36855p-3);
  q = __builtin_fma(q, u, 0x1.249248fe0aaeap-3);
  q = __builtin_fma(q, u, -0x1.5555552eedc2ap-3);
  q = __builtin_fma(q, u, 0x1.99999999919fap-3);
  q = __builtin_fma(q, u, -0x1.0000000021d88p-2);
  q = __builtin_fma(q, u, 0x1.5555555555809p-2);
  q = __builtin_fma(q, u, -0x1.ffffffffffee9p-2);
  q = __builtin_fma(q, u, 1.0);
  return __builtin_fma(q, u, halve ? ln2_high : 0.0);
}

/// LSE64 of a root: its logarithm; -inf for zero.
constexpr double log_of(TreeValue root) {
  if (root.s == 0.0f) return -std::numeric_limits<double>::infinity();
  const double n = static_cast<double>(root.n);
  return __builtin_fma(n, ln2_high, __builtin_fma(n, ln2_low, log_of_significand(root.s)));
}

/// fp32 of `value`; zero, also one that underflows from below, is +0.
constexpr float stored(double value) {
  const float out = static_cast<float>(value);
  return out == 0.0f ? 0.0f : out;
}

constexpr float lse_of(double lse64) { return stored(lse64); }

/// The target's log-prob, from LSE64 and never from fp32(LSE64). NaN (of a row that is left out) gives 0.
constexpr float log_prob_of(float target, double lse64) {
  const double logp = static_cast<double>(target) - lse64;
  return stored(logp < 0.0 ? logp : 0.0);
}

}  // namespace drift::fixed_tree
