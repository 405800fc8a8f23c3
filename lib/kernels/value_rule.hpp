#pragma once

// The dump view: the one place that says how a stored logit becomes the fp32 value a formula sees.
//
//   widen      stored BF16 F16 F32 to fp32, exact; F64 to fp32, rounded once to nearest even
//   round      to the candidate dtype (--candidate-dtype), if it differs from the stored one
//   divide     by the temperature, in one of three orders (--temperature-order):
//                f32         fp32(x) / fp32(T), true division
//                native      T and the quotient rounded to the candidate dtype: what `logits / T` does in a bf16 stack
//                reciprocal  fp32(x) * fp32(1 / fp32(T)): what torch does with a Python number for T
//   judge      below -2^30 counts as -inf (a mask), above 2^30 as +inf; NaN stays
//
// constexpr and free of intrinsics: CPU and GPU kernels call the same text and get the same bits.

#include <bit>
#include <cstdint>
#include <limits>

#include "base/dtype.hpp"
#include "base/float16.hpp"

namespace drift {

enum class TemperatureOrder : std::uint8_t { f32, native, reciprocal };

struct ValueRule {
  Dtype stored = Dtype::F32;     ///< BF16, F16, F32 or F64
  Dtype candidate = Dtype::F32;  ///< BF16, F16 or F32: rounded to after widening; equal to `stored` rounds nothing
  TemperatureOrder order = TemperatureOrder::f32;
  float temperature = 1.0f;  ///< > 0, finite; 1 divides nothing

  /// True if widening alone gives the value: kernels then take their fast path.
  constexpr bool is_plain() const {
    return temperature == 1.0f && (candidate == stored || candidate == Dtype::F32);
  }
  friend constexpr bool operator==(const ValueRule&, const ValueRule&) = default;
};

inline constexpr float mask_floor = -0x1p30f;  ///< values below are masks
inline constexpr float value_ceiling = 0x1p30f;  ///< values above count as +inf

/// fp32 `value` after rounding to a dtype and back. F32 and F64 return it as it is.
constexpr float rounded_to(Dtype dtype, float value) {
  if (dtype == Dtype::BF16) return widen_bf16(round_bf16(value));
  if (dtype == Dtype::F16) return widen_f16(round_f16(value));
  return value;
}

constexpr float widen(std::uint16_t bits, Dtype stored) {
  return stored == Dtype::BF16 ? widen_bf16(bits) : widen_f16(bits);
}

/// Everything after widening, up to but without the judgement.
constexpr float divided(float widened, const ValueRule& rule) {
  const float x = rounded_to(rule.candidate, widened);
  if (rule.temperature == 1.0f) return x;
  switch (rule.order) {
    case TemperatureOrder::native:
      return rounded_to(rule.candidate, x / rounded_to(rule.candidate, rule.temperature));
    case TemperatureOrder::reciprocal: return x * (1.0f / rule.temperature);
    case TemperatureOrder::f32: break;
  }
  return x / rule.temperature;
}

/// -inf for masks, +inf above the ceiling, NaN for NaN, else the value.
constexpr float judged(float value) {
  if (value < mask_floor) return -std::numeric_limits<float>::infinity();
  if (value > value_ceiling) return std::numeric_limits<float>::infinity();
  return value;
}

constexpr float value_of(float widened, const ValueRule& rule) { return judged(divided(widened, rule)); }

}  // namespace drift
