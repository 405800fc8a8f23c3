#pragma once

// The oracle's scalar maths, in one text that CPU and GPU compile to the same bits. It repeats on purpose
// what the candidates' headers do (widening, rounding, exp, log) with other algorithms: a mistake there must
// not be made here too.
//
// Only IEEE +, -, *, / and fma, in the order written: build with -ffp-contract=off, and -fmad=false for nvcc.

#include <bit>
#include <cstdint>

#include "oracle/oracle.hpp"

namespace oracle {

/// Column v of a row is added to sum v mod `lanes`, ascending; then sum i takes sum i + lanes/2 for i <
/// lanes/2, and so on with half as many: the one order of every implementation.
inline constexpr int lanes = 1024;

inline constexpr float mask_below = -0x1p30f;  ///< values below count as -inf
inline constexpr float large_above = 0x1p30f;  ///< values above count as +inf

constexpr float quiet_nan() { return std::bit_cast<float>(0x7fc00000u); }

[[gnu::always_inline]] constexpr float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// The bits moved to fp32's places have an exponent too small by 127 - 15; the product puts that right,
/// exactly, for subnormals too. Infinity and NaN need the full exponent besides. (Masks, not ?: around
/// arithmetic: compilers would branch.)
[[gnu::always_inline]] constexpr float from_f16(std::uint16_t bits) {
  const std::uint32_t body = (bits & 0x7fffu) << 13, sign = (bits & 0x8000u) << 16;
  const std::uint32_t scaled = std::bit_cast<std::uint32_t>(std::bit_cast<float>(body) * 0x1p112f);
  return std::bit_cast<float>(sign | scaled | (body >= 0x0f800000u ? 0x7f800000u : 0u));
}

/// The bf16 number nearest to `value`, ties to even; too large: infinity.
[[gnu::always_inline]] constexpr float on_bf16_grid(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t nearest = (bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u;
  return std::bit_cast<float>((bits & 0x7fffffffu) > 0x7f800000u ? bits : nearest);
}

/// The f16 number nearest to `value`, ties to even; too large: infinity.
[[gnu::always_inline]] constexpr float on_f16_grid(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value), magnitude = bits & 0x7fffffffu;
  const std::uint32_t nearest = (magnitude + 0xfffu + ((magnitude >> 13) & 1u)) & ~0x1fffu;
  const std::uint32_t bounded = nearest >= 0x47800000u ? 0x7f800000u : nearest;  // 2^16 and more: infinity
  const std::uint32_t normal = magnitude > 0x7f800000u ? magnitude : bounded;    // NaN stays
  // Below 2^-14 the grid is 2^-24, which is the ulp of [0.5, 1): adding 0.5 rounds to it.
  const std::uint32_t tiny = std::bit_cast<std::uint32_t>((std::bit_cast<float>(magnitude) + 0.5f) - 0.5f);
  const std::uint32_t below = magnitude < 0x38800000u ? 0xffffffffu : 0u;
  return std::bit_cast<float>((bits & 0x80000000u) | (tiny & below) | (normal & ~below));
}

/// fp32 bits as an integer that orders like the value (-0 before +0; NaN is handled apart). Its own inverse.
[[gnu::always_inline]] constexpr std::int32_t ordered(std::int32_t bits) {
  return bits ^ ((bits >> 31) & 0x7fffffff);
}
[[gnu::always_inline]] constexpr std::int32_t order_of(float value) {
  return ordered(std::bit_cast<std::int32_t>(value));
}

/// What the first pass finds in a row. Integer maxima: no order of comparing can change them.
struct Extent {
  std::int32_t largest =
      order_of(std::bit_cast<float>(0xff800000u));  ///< order_of the largest value that is no NaN
  std::int32_t magnitude = 0;  ///< largest bits without sign; above 0x7f800000 there is a NaN

  constexpr float max() const { return std::bit_cast<float>(ordered(largest)); }
  /// No NaN, nothing that counts as +inf, and a value that is no mask.
  constexpr bool countable() const {
    return magnitude <= 0x7f800000 && largest <= order_of(large_above) && largest >= order_of(mask_below);
  }
};

/// Where exp ends: e^-512 of the largest term changes no bit of the sum. Masks are sent there.
[[gnu::always_inline]] constexpr float lowest_for(float max) { return max - 512.0f; }
/// What is raised to `lowest_for(max)`: everything below this.
[[gnu::always_inline]] constexpr float cut_for(float max) {
  return lowest_for(max) > mask_below ? lowest_for(max) : mask_below;
}

/// e^d for d in [-700, 0]; e^0 is 1 exactly. 2^n times a degree-10 polynomial for 2^r, |r| <= 0.5
/// (interpolated in the Chebyshev nodes, constant term 1). Relative error <= 2^-50 + |d| 2^-53.
[[gnu::always_inline]] constexpr double exp_fp64(double d) {
  constexpr double log2e = 0x1.71547652b82fep+0;
  constexpr double to_integer = 0x1.8p52;  // an fp64 of this size has no fraction: adding it rounds
  const double t = __builtin_fma(d, log2e, to_integer);
  const double r = __builtin_fma(d, log2e, -(t - to_integer));
  const double square = r * r;  // even and odd powers apart: two short chains instead of a long one
  double even = __builtin_fma(0x1.e5e9f548e5726p-28, square, 0x1.62bfe46117445p-20);
  double odd = __builtin_fma(0x1.b6571de2f2351p-24, square, 0x1.ffcb76789860fp-17);
  even = __builtin_fma(even, square, 0x1.4309130378460p-13);
  odd = __builtin_fma(odd, square, 0x1.5d87fe908f88ap-10);
  even = __builtin_fma(even, square, 0x1.3b2ab6fba385fp-7);
  odd = __builtin_fma(odd, square, 0x1.c6b08d7044119p-5);
  even = __builtin_fma(even, square, 0x1.ebfbdff82c590p-3);
  odd = __builtin_fma(odd, square, 0x1.62e42fefa39f7p-1);
  const double p = __builtin_fma(odd, r, __builtin_fma(even, square, 1.0));
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(p) + (std::bit_cast<std::uint64_t>(t) << 52));
}

/// log s for a finite s >= 1: s = 2^k m with m in (0.70, 1.42), then log m = 2 artanh((m - 1) / (m + 1)) by
/// its series up to the 21st power. log 1 is +0. Relative error <= 2^-50.
constexpr double log_fp64(double s) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(s);
  double k = static_cast<double>(static_cast<std::int64_t>(bits >> 52) - 1023);
  double m = std::bit_cast<double>((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull);
  if (m > 0x1.6ap0) {
    m *= 0.5;
    k += 1.0;
  }
  const double z = (m - 1.0) / (m + 1.0), w = z * z;
  double series = 0.0;
  for (int power = 21; power >= 3; power -= 2) series = __builtin_fma(series, w, 1.0 / power);
  const double tail = __builtin_fma(2.0 * z * w, series, k * 0x1.fdf473de6af28p-22);  // k ln2's low part
  return __builtin_fma(k, 0x1.62e42p-1, 2.0 * z + tail);
}

struct RowValues {
  float lse;
  float logp;
};

/// The end of a countable row: `sum` of e^(x - max), and the target's value (NaN: no target). (x - max) - log
/// sum keeps the digits of a confident token, whose logp is far smaller than its LSE.
constexpr RowValues finish(float max, double sum, float target) {
  const double log_sum = log_fp64(sum);
  const float lse = static_cast<float>(static_cast<double>(max) + log_sum);
  if (!(target >= mask_below)) return {lse, quiet_nan()};
  const double logp = (static_cast<double>(target) - static_cast<double>(max)) - log_sum;
  return {lse, logp < 0.0 ? static_cast<float>(logp) : 0.0f};
}

}  // namespace oracle
