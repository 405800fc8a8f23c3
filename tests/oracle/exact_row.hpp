#pragma once

// Truth for oracle tests: long double over plain fp32 values, and rows packed in any dtype at any address.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "base/float16.hpp"
#include "oracle/oracle.hpp"

namespace exact {

inline constexpr float inf = std::numeric_limits<float>::infinity();
inline constexpr float nan = std::numeric_limits<float>::quiet_NaN();

struct Truth {
  double lse;
  double logp;
};

/// Of values as they count (after rounding, division and judgement); NaN-free, some value finite.
inline Truth of_values(std::span<const float> x, std::int64_t target) {
  long double max = -inf;
  for (const float value : x) max = std::max(max, static_cast<long double>(value));
  long double sum = 0;
  for (const float value : x) sum += std::exp(static_cast<long double>(value) - max);
  const long double log_sum = std::log(sum);
  const long double logp = (static_cast<long double>(x[static_cast<std::size_t>(target)]) - max) - log_sum;
  return {static_cast<double>(max + log_sum), static_cast<double>(std::min(logp, 0.0L))};
}

/// Bytes of `values` in a dtype, at an odd address if `offset` is odd. f64 values get bits that fp32 cannot
/// hold.
class Packed {
 public:
  Packed(std::span<const float> values, oracle::Dtype dtype, std::size_t offset = 0)
      : dtype_(dtype), offset_(offset), bytes_(values.size() * size() + offset) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      unsigned char* at = bytes_.data() + offset_ + i * size();
      const std::uint16_t half =
          dtype == oracle::Dtype::bf16 ? drift::round_bf16(values[i]) : drift::round_f16(values[i]);
      const double wide = static_cast<double>(values[i]) * (1 + 0x1p-40);
      if (size() == 2) std::memcpy(at, &half, 2);
      if (size() == 4) std::memcpy(at, &values[i], 4);
      if (size() == 8) std::memcpy(at, &wide, 8);
    }
  }

  const void* data() const { return bytes_.data() + offset_; }
  std::size_t size() const { return dtype_ == oracle::Dtype::f64 ? 8 : dtype_ == oracle::Dtype::f32 ? 4 : 2; }
  std::size_t bytes() const { return bytes_.size() - offset_; }

 private:
  oracle::Dtype dtype_;
  std::size_t offset_;
  std::vector<unsigned char> bytes_;
};

/// What the dtype makes of a value.
inline float as_stored(float value, oracle::Dtype dtype) {
  if (dtype == oracle::Dtype::bf16) return drift::widen_bf16(drift::round_bf16(value));
  if (dtype == oracle::Dtype::f16) return drift::widen_f16(drift::round_f16(value));
  return value;
}

/// One row of fp32 values at temperature 1.
struct OneRow {
  float lse = 0;
  float logp = 0;

  OneRow(std::span<const float> values, std::int64_t target) {
    const auto vocab = static_cast<std::int64_t>(values.size());
    oracle::log_prob_cpu(
        {values.data(), oracle::Dtype::f32, oracle::Dtype::f32, 1.0f, &target, 1, vocab, vocab}, &lse, &logp);
  }
};

inline std::vector<float> normal_values(std::size_t count, float spread, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, spread);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

inline constexpr oracle::Dtype all_dtypes[] = {oracle::Dtype::bf16, oracle::Dtype::f16, oracle::Dtype::f32,
                                               oracle::Dtype::f64};

}  // namespace exact
