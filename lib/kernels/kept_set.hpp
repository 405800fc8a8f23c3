#pragma once

// Top-k, top-p and min-p: which columns of a row a sampler keeps, by vLLM's rules, and what that makes of its
// logits.
//
// Values are those after the temperature; p_v is the softmax over what the steps before have left. In this
// order:
//   min-p   keeps p_v >= min_p * p_max, that is x_v >= x_max + log(min_p) in fp64, where a distance of up to
//           2^-20 counts as none (an exact quarter is meant to be one, and fp32 softmaxes round) and marks
//           the row at_boundary; never drops the maximum.
//   top-k   keeps what is at least the k-th largest value left: ties at that value all stay, so more than k
//   may. top-p   Rank what is left by value, ties by column, the higher column first. A column stays if the
//   mass ranked above it is below
//           top_p; the first always stays. (From below: ascending, with ties at the lowest column first,
//           columns go as long as their cumulative mass is at most 1 - top_p.) So ties at the boundary are
//           split: of equal values the higher columns stay. Masses are fp64. One within 2^-20 of top_p counts
//           as equal to it - vLLM adds up in fp32, and a cumulative .8 is meant to be .8 - and the row is
//           marked at_boundary: there vLLM itself may come out either way.
// What stays is thus the head of one ranking, and a threshold says it. -inf has no mass: it stays only where
// nothing is cut off above it. A row without a value above -inf, or with NaN or +inf, keeps everything.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "kernels/value_rule.hpp"

namespace drift {

/// What a sampler was told. The neutral values keep everything.
struct Truncation {
  std::int64_t top_k = 0;  ///< <= 0: off
  double top_p = 1;        ///< >= 1: off
  double min_p = 0;        ///< <= 0: off

  constexpr bool is_off() const { return top_k <= 0 && top_p >= 1 && min_p <= 0; }
  friend constexpr bool operator==(const Truncation&, const Truncation&) = default;
};

/// The kept columns of a row as a threshold on values after the temperature (order f32 of value_rule.hpp):
/// column v is kept unless x_v < value, or x_v == value and v < first_tied. (So NaN is kept: it must stay
/// visible.)
struct KeptThreshold {
  float value = -std::numeric_limits<float>::infinity();
  std::int32_t kept = 0;  ///< how many columns are kept
  std::int64_t first_tied = 0;
  std::int32_t at_boundary = 0;  ///< 1: fp32 rounding could move the min-p or top-p boundary in this row
  std::int32_t reserved = 0;     ///< no padding bytes

  constexpr bool keeps(float x, std::int64_t column) const {
    return !(x < value || (x == value && column < first_tied));
  }
};

/// `values`: [vocab] judged values of a row after the temperature, column 0 first. The same on every
/// platform. O(V) and a heap: O(log k) for a value that enters the k largest so far, O(log V) for every
/// column that top-p keeps. Throws Fault::input above 2^31 - 1 columns.
KeptThreshold kept_threshold(std::span<const float> values, const Truncation& truncation);

/// LSE of what is kept of `values` (as above), fp64 with the C library's exp and log; NaN without values.
double kept_lse(std::span<const float> values, const Truncation& truncation);

/// Write -inf over the stored values of the columns of `row` (columns first_column, first_column + 1, ... of
/// the padded vocabulary, as stored, at any address) that the threshold does not keep. Columns >= vocab are
/// left alone. `rule`: the oracle's, with the row's temperature: it must give the values that kept_threshold
/// saw.
void drop_below(const KeptThreshold& threshold, const ValueRule& rule, std::int64_t first_column,
                std::int64_t vocab, std::span<std::byte> row);
/// The same for columns that are not in `kept`, ascending; those of `kept` outside the row are passed over.
void drop_others(std::span<const std::int64_t> kept, Dtype stored, std::int64_t first_column,
                 std::span<std::byte> row, std::int64_t vocab = std::numeric_limits<std::int64_t>::max());

}  // namespace drift
