// The oracle's judge: plain fp64 with the C library's exp and log, and a compensated sum. It shares the
// interface with the oracle and nothing else: numbers are decoded from their sign, exponent and fraction, and
// rounded by scaling.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "oracle/oracle.hpp"

namespace oracle {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

template <class T>
T read(const void* base, std::int64_t i) {
  T value;
  std::memcpy(&value, static_cast<const unsigned char*>(base) + i * static_cast<std::int64_t>(sizeof(T)),
              sizeof(T));
  return value;
}

/// A 16-bit float with so many fraction bits: bf16 has 7, f16 10.
double decode(unsigned bits, int fraction_bits) {
  const int exponent_bits = 15 - fraction_bits, bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const int fraction = static_cast<int>(bits) & ((1 << fraction_bits) - 1);
  double size;
  if (exponent == (1 << exponent_bits) - 1)
    size = fraction == 0 ? infinity : not_a_number;
  else if (exponent == 0)
    size = std::ldexp(fraction, 1 - bias - fraction_bits);
  else
    size = std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
  return (bits & 0x8000u) != 0 ? -size : size;
}

/// The nearest number with `precision` bits whose normal range is 2^smallest .. largest; ties to even.
double round_to(double value, int precision, int smallest, double largest) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent = 0;
  std::frexp(value, &exponent);  // |value| is in [2^(exponent - 1), 2^exponent)
  const int step = std::max(exponent - 1, smallest) - (precision - 1);
  const double nearest = std::ldexp(std::nearbyint(std::ldexp(value, -step)), step);
  return std::fabs(nearest) > largest ? std::copysign(infinity, value) : nearest;
}

/// A stored number as it counts: -inf for a mask, +inf above the ceiling.
double counted(double x, const Rows& rows) {
  if (rows.rounded == Dtype::bf16) x = round_to(x, 8, -126, 0x1.fep127);
  if (rows.rounded == Dtype::f16) x = round_to(x, 11, -14, 65504);
  // fp32 quotients of fp32 numbers: one rounding in fp64 and one more give the same as one alone (53 >= 2 *
  // 24 + 2).
  if (rows.temperature != 1.0f)
    x = static_cast<double>(static_cast<float>(x / static_cast<double>(rows.temperature)));
  if (x < -1073741824.0) return -infinity;
  if (x > 1073741824.0) return infinity;
  return x;
}

std::vector<double> row_of_16_bits(const Rows& rows, std::int64_t row) {
  const auto decoded = [&](unsigned bits) {
    return counted(decode(bits, rows.stored == Dtype::bf16 ? 7 : 10), rows);
  };
  std::vector<double> out(static_cast<std::size_t>(rows.vocab));
  std::vector<double> known;  // by bits, where a row is longer than there are bit patterns: decoding is slow
  if (rows.vocab > 65536)
    for (unsigned bits = 0; bits < 65536; ++bits) known.push_back(decoded(bits));
  for (std::int64_t v = 0; v < rows.vocab; ++v) {
    const auto bits = read<std::uint16_t>(rows.logits, row * rows.pitch + v);
    out[static_cast<std::size_t>(v)] = known.empty() ? decoded(bits) : known[bits];
  }
  return out;
}

std::vector<double> values_of(const Rows& rows, std::int64_t row) {
  if (rows.stored == Dtype::bf16 || rows.stored == Dtype::f16) return row_of_16_bits(rows, row);
  std::vector<double> out(static_cast<std::size_t>(rows.vocab));
  for (std::int64_t v = 0; v < rows.vocab; ++v) {
    const std::int64_t i = row * rows.pitch + v;
    const float x = rows.stored == Dtype::f32 ? read<float>(rows.logits, i)
                                              : static_cast<float>(read<double>(rows.logits, i));
    out[static_cast<std::size_t>(v)] = counted(static_cast<double>(x), rows);
  }
  return out;
}

}  // namespace

void referee(const Rows& rows, std::int64_t row, double* lse, double* logp) {
  *lse = *logp = not_a_number;
  const std::vector<double> values = values_of(rows, row);
  double max = -infinity;
  for (const double x : values) {
    if (std::isnan(x) || x == infinity) return;
    max = x > max ? x : max;
  }
  if (max == -infinity) return;

  double sum = 0, lost = 0;  // what additions rounded away (Neumaier)
  for (const double x : values) {
    const double term = std::exp(x - max), next = sum + term;
    lost += std::fabs(sum) >= term ? (sum - next) + term : (term - next) + sum;
    sum = next;
  }
  const double log_sum = std::log(sum) + std::log1p(lost / sum);
  *lse = max + log_sum;

  const std::int64_t target = rows.targets[row];
  if (target < 0 || target >= rows.vocab) return;
  const double x = values[static_cast<std::size_t>(target)];
  if (x == -infinity) return;
  *logp = std::fmin(0.0, (x - max) - log_sum);
}

double fraction_of_bound(float value, double truth) {
  if (std::isnan(value) && std::isnan(truth)) return 0;
  if (!std::isfinite(value) || !std::isfinite(truth)) return infinity;
  int exponent = 0;
  std::frexp(value, &exponent);
  const double ulp = std::ldexp(1.0, std::max(exponent, -125) - 24);  // 0 has the smallest one
  return std::fabs(static_cast<double>(value) - truth) / (0.6 * (value == 0 ? 0x1p-149 : ulp) + 0x1p-22);
}

}  // namespace oracle
