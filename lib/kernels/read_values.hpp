#pragma once

// A stretch of a stored row as fp32 values. Loops without branches, so that compilers vectorise them.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/value_rule.hpp"

namespace drift::cpu {

/// Element i of an unaligned array.
template <class T>
inline T load(const std::byte* data, std::int64_t i) {
  T value;
  std::memcpy(&value, data + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

/// Stored bits to fp32; F64 is rounded once.
inline void widen_values(Dtype stored, const std::byte* data, std::int64_t count, float* out) {
  switch (stored) {
    case Dtype::BF16:
      for (std::int64_t i = 0; i < count; ++i) out[i] = widen_bf16(load<std::uint16_t>(data, i));
      break;
    case Dtype::F16:
      for (std::int64_t i = 0; i < count; ++i) out[i] = widen_f16(load<std::uint16_t>(data, i));
      break;
    case Dtype::F64:
      for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(load<double>(data, i));
      break;
    default: std::memcpy(out, data, static_cast<std::size_t>(count) * sizeof(float)); break;
  }
}

/// divided() over an array, with what the rule decides by switch known at compile time.
template <Dtype candidate, TemperatureOrder order>
inline void divide_values(const ValueRule& rule, std::int64_t count, float* out) {
  const ValueRule known{rule.stored, candidate, order, rule.temperature};
  for (std::int64_t i = 0; i < count; ++i) out[i] = divided(out[i], known);
}

template <Dtype candidate>
inline void divide_values(const ValueRule& rule, std::int64_t count, float* out) {
  switch (rule.order) {
    case TemperatureOrder::f32: return divide_values<candidate, TemperatureOrder::f32>(rule, count, out);
    case TemperatureOrder::native:
      return divide_values<candidate, TemperatureOrder::native>(rule, count, out);
    case TemperatureOrder::reciprocal:
      return divide_values<candidate, TemperatureOrder::reciprocal>(rule, count, out);
  }
}

/// The values a formula sees, not yet judged: masks are still the numbers they are.
inline void read_unjudged(const ValueRule& rule, const std::byte* data, std::int64_t count, float* out) {
  widen_values(rule.stored, data, count, out);
  if (rule.is_plain()) return;
  switch (rule.candidate) {
    case Dtype::BF16: return divide_values<Dtype::BF16>(rule, count, out);
    case Dtype::F16: return divide_values<Dtype::F16>(rule, count, out);
    default: return divide_values<Dtype::F32>(rule, count, out);
  }
}

/// The values a formula sees: value_rule.hpp from end to end.
inline void read_values(const ValueRule& rule, const std::byte* data, std::int64_t count, float* out) {
  read_unjudged(rule, data, count, out);
  for (std::int64_t i = 0; i < count; ++i) out[i] = judged(out[i]);
}

}  // namespace drift::cpu
