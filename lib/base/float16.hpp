#pragma once

// Widening and rounding of 16-bit floats as plain integer arithmetic: the same bits on every CPU and GPU, no intrinsics.
// Rounding is to nearest, ties to even (IEEE 754-2019, 4.3.1); NaN stays NaN, overflow becomes infinity.

#include <bit>
#include <cstdint>

namespace drift {

constexpr float widen_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

constexpr float widen_f16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
  // Taken as fp32 bits the exponent is 112 too small. The product is exact, for subnormals too, and has no branch.
  const float value = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  const std::uint32_t special = magnitude >= 0x7c00u ? 0x7f800000u : 0u;  // infinity and NaN keep their payload
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | special | sign);
}

constexpr std::uint16_t round_bf16(float value) {
  const std::uint32_t u = std::bit_cast<std::uint32_t>(value);
  if ((u & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((u >> 16) | 0x40u);
  return static_cast<std::uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

constexpr std::uint16_t round_f16(float value) {
  const std::uint32_t u = std::bit_cast<std::uint32_t>(value), sign = (u >> 16) & 0x8000u, magnitude = u & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // >= 65520: infinity
  if (magnitude < 0x38800000u) {                                                   // below 2^-14: subnormal
    // 0.5 has an ulp of 2^-24, f16's smallest step: adding it rounds the value to that grid, ties to even.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
  }
  return static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13));
}

}  // namespace drift
