#pragma once

// The fp64 arithmetic of row_moments and kept_set: one text for g++ (-ffp-contract=off) and nvcc
// (-fmad=false), made of additions, products and explicit fused multiply-adds, so that every backend and
// instruction set gives the same bits. No libm.

#include <bit>
#include <cstdint>
#include <limits>

#include "kernels/fixed_tree.hpp"
#include "kernels/row_moments.hpp"
#include "kernels/value_rule.hpp"

namespace drift::moments {

inline constexpr int lanes = 512;  ///< accumulators a sum has: see row_moments.hpp

/// A term with x - max below this is zero: e^-320 is 2^-461, and its square is still a normal fp64.
inline constexpr double least_exponent = -320.0;

/// e^d for -745 < d <= 0, relative error <= 2^-52; e^0 is exactly 1; NaN for NaN.
///
/// n = rint(d log2 e), r = d - n ln 2 (ln 2 in two parts, |r| <= ln 2 / 2), e^r = 1 + r + r^2 q(r), times 2^n
/// by adding to the exponent. q is the Chebyshev interpolant of degree 9: relative error of e^r 2^-55.8
/// before rounding.
constexpr double exp_of_negative(double d) {
  constexpr double magic = 0x1.8p52;  // fp64 up there has an ulp of 1, and n in its low bits
  const double t = __builtin_fma(d, 0x1.71547652b82fep+0, magic);
  const double n = t - magic;
  const double r = __builtin_fma(n, -fixed_tree::ln2_low, __builtin_fma(n, -fixed_tree::ln2_high, d));
  const double r2 = r * r, r4 = r2 * r2;  // pairs of coefficients, not Horner: a third of the latency
  const double q01 = __builtin_fma(0x1.5555555555556p-3, r, 0x1.0000000000001p-1);
  const double q23 = __builtin_fma(0x1.11111111109b5p-7, r, 0x1.5555555553d68p-5);
  const double q45 = __builtin_fma(0x1.a01a01a7c2efep-13, r, 0x1.6c16c17889ef1p-10);
  const double q67 = __builtin_fma(0x1.71de0db2f6aedp-19, r, 0x1.a019b9149a3d4p-16);
  const double q89 = __builtin_fma(0x1.af389ecfcb5d9p-26, r, 0x1.28917c89a99ffp-22);
  const double low = __builtin_fma(q23, r2, q01), high = __builtin_fma(q67, r2, q45);
  const double q = __builtin_fma(__builtin_fma(q89, r4, high), r4, low);
  const double power = __builtin_fma(q, r2, r) + 1.0;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(power) + (std::bit_cast<std::uint64_t>(t) << 52));
}

/// e^(x - max) and x - max; 0 and least_exponent where the difference is below least_exponent (-inf is).
struct Term {
  double e, d;
};
constexpr Term term_of(float x, double max) {
  const double difference = static_cast<double>(x) - max;
  const bool is_zero = difference < least_exponent;
  const double d = is_zero ? least_exponent : difference;
  const double e = exp_of_negative(d);
  return {is_zero ? 0.0 : e, d};
}

/// log of a positive normal fp64, error <= 2^-48 + 2^-52 |log s|.
constexpr double log_of_positive(double s) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(s);
  const double n = static_cast<double>(static_cast<std::int64_t>(bits >> 52) - 1023);
  const double significand = std::bit_cast<double>((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u);
  const float near = static_cast<float>(significand);
  const double wide = static_cast<double>(near);
  const double u = (significand - wide) / wide;  // at most 2^-24: log(1 + u) = u - u^2 / 2
  const double log_significand = fixed_tree::log_of_significand(near) + __builtin_fma(u * -0.5, u, u);
  return __builtin_fma(n, fixed_tree::ln2_high, __builtin_fma(n, fixed_tree::ln2_low, log_significand));
}

// ---- ulps: a power of two that depends on the value, times one that depends on its dtype

/// ulp / power_of_two: 2^-(stored significand bits).
constexpr double relative_step(Dtype stored) {
  switch (stored) {
    case Dtype::BF16: return 0x1p-7;
    case Dtype::F16: return 0x1p-10;
    case Dtype::F64: return 0x1p-52;
    default: return 0x1p-23;
  }
}

/// The power below which ulps shrink no more: the least normal number. (F64: what gives fp32's least ulp,
/// 2^-149.)
constexpr double least_power(Dtype stored) {
  switch (stored) {
    case Dtype::F16: return 0x1p-14;
    case Dtype::F64: return 0x1p-97;
    default: return 0x1p-126;
  }
}

/// The largest power of two <= |widened|, at least `least`; 2^127 for what is not finite.
constexpr double power_of_two(float widened, double least) {
  const double power =
      std::bit_cast<double>(std::bit_cast<std::uint64_t>(static_cast<double>(widened)) & 0x7ff0000000000000u);
  const double raised = power > least ? power : least;
  return raised < 0x1p127 ? raised : 0x1p127;
}

// ---- The end of a row

/// Sums over all columns but argmax; `noise` in units of relative_step(stored) / temperature, squared.
struct Sums {
  double sum = 0, first = 0, square = 0, noise = 0;
};

/// A row's result. `widened`: the stored value of column argmax.
constexpr RowMoments finished(const Sums& tail, float max, std::int64_t argmax, float widened,
                              const ValueRule& rule) {
  RowMoments out;
  out.max = max + 0.0f;  // -0 becomes +0
  out.argmax = argmax;
  if (argmax < 0) return out;
  if (max > value_ceiling || !(tail.first <= 0.0)) {  // +inf; NaN
    out.sum = out.first = out.square = out.noise = out.tail = out.tail_noise =
        std::numeric_limits<double>::quiet_NaN();
    return out;
  }
  const double step = relative_step(rule.stored), power = power_of_two(widened, least_power(rule.stored));
  const double temperature = static_cast<double>(rule.temperature);
  const double unit = step * step / (temperature * temperature);
  out.tail = tail.sum;
  out.tail_noise = tail.noise * unit;
  out.sum = 1.0 + tail.sum;
  out.first = tail.first;
  out.square = 1.0 + tail.square;
  out.noise = out.tail_noise + power * power * unit;
  return out;
}

}  // namespace drift::moments
