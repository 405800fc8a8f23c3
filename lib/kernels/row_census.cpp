#include "kernels/row_census.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/read_values.hpp"

namespace drift::cpu {
namespace {

constexpr std::int64_t chunk = 2048;

bool stored_is_finite(Dtype stored, const std::byte* data, std::int64_t i) {
  switch (stored) {
    case Dtype::BF16: return (load<std::uint16_t>(data, i) & 0x7fffu) < 0x7f80u;
    case Dtype::F16: return (load<std::uint16_t>(data, i) & 0x7fffu) < 0x7c00u;
    case Dtype::F64: return std::isfinite(load<double>(data, i));
    default: return std::isfinite(load<float>(data, i));
  }
}

/// Whether every value of a chunk is a plain number: nothing to count then. The usual case, at memory speed.
bool all_within(const ValueRule& rule, const std::byte* data, std::int64_t count, float* x) {
  if (rule.stored == Dtype::BF16 && rule.is_plain()) {
    std::int16_t largest = 0;
    for (std::int64_t i = 0; i < count; ++i)
      largest = std::max(largest, static_cast<std::int16_t>(load<std::int16_t>(data, i) & 0x7fff));
    return largest <= static_cast<std::int16_t>(round_bf16(value_ceiling));
  }
  read_unjudged(rule, data, count, x);
  std::int32_t largest = 0;
  for (std::int64_t i = 0; i < count; ++i)
    largest = std::max(largest, std::bit_cast<std::int32_t>(x[i]) & 0x7fffffff);
  return largest <= std::bit_cast<std::int32_t>(value_ceiling);
}

/// Counts a chunk value by value; true if one of them is above -inf.
bool count_chunk(const ValueRule& rule, const std::byte* data, std::int64_t column, std::int64_t count,
                 float* x, RowCensus& census) {
  read_values(rule, data, count, x);
  bool alive = false;
  for (std::int64_t i = 0; i < count; ++i) {
    if (x[i] == -std::numeric_limits<float>::infinity()) {
      census.masked += stored_is_finite(rule.stored, data, i);
    } else if (!(x[i] <= value_ceiling)) {
      if (census.nonfinite++ == 0) {
        census.first_bad = column + i;
        census.kind = std::isnan(x[i]) ? BadValue::nan : BadValue::pos_inf;
      }
      alive = true;
    } else {
      alive = true;
    }
  }
  return alive;
}

std::int64_t rounded_values(const std::byte* data, std::int64_t count) {
  std::int64_t rounded = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = load<double>(data, i);
    const double back = static_cast<double>(static_cast<float>(x));
    rounded += (back < x) | (back > x);  // false for NaN
  }
  return rounded;
}

}  // namespace

void row_census(const LogitsView& logits, const std::int64_t* targets, RowCensus* out) {
  const Range columns = logits.real();
  const std::int64_t bytes = logits.bytes_per_element();
  for (std::int64_t r = 0; r < logits.rows; ++r) {
    RowCensus census;
    bool alive = false;
    for (std::int64_t at = 0; at < columns.size(); at += chunk) {
      const std::int64_t count = std::min(chunk, columns.size() - at);
      const std::byte* data = logits.row(r) + at * bytes;
      float x[chunk];
      const bool plain_numbers = all_within(logits.rule, data, count, x);
      if (plain_numbers || count_chunk(logits.rule, data, columns.begin + at, count, x, census)) alive = true;
      if (logits.rule.stored == Dtype::F64) census.rounded += rounded_values(data, count);
    }
    const std::int64_t target = targets[r];
    if (census.nonfinite == 0 && columns.contains(target)) {
      float x = 0;
      read_values(logits.rule, logits.row(r) + (target - columns.begin) * bytes, 1, &x);
      if (x == -std::numeric_limits<float>::infinity()) census.kind = BadValue::target_neg_inf;
    }
    if (census.nonfinite == 0 && !alive) census.kind = BadValue::all_neg_inf;
    if (census.nonfinite == 0 && census.kind != BadValue::none) census.first_bad = target;
    out[r] = census;
  }
}

}  // namespace drift::cpu
