#pragma once

// What a row's distribution looks like, in one kernel: entropy, sum p^2, and the noise that storing the
// logits in their dtype puts on a log-prob.

#include "kernels/views.hpp"

namespace drift {

/// Sums over the real columns of one row of a shard, with e_v = exp(x_v - max) and u_v = ulp of the stored
/// logit in its stored dtype, divided by the temperature. max is the row's own. All of them are fp64.
///
/// Formula  x is the value after the whole value rule (value_rule.hpp). x - max is exact or rounded once; exp
/// is
///          moments::exp_of_negative (relative error <= 2^-52), and 0 where x - max < -320. Ulps are powers
///          of two.
/// Order    column argmax stands apart: its terms (1, 0, 1, u^2) are added last, so that what is left of a
/// confident row does
///          not drown in them. Every other column c adds, by fma, to accumulator (c - columns.begin) mod 512
///          of 512, ascending; then accumulators are folded in halves, a[i] += a[i + h] for h = 256, 128,
///          ..., 1.
/// -inf     adds nothing. A row without a value above -inf: sums 0, argmax -1 (whatever NaNs it has).
/// Otherwise a row with NaN or +inf:
///          every sum the quiet NaN 0x7ff8000000000000.
/// Bound    relative error of sum, square, tail, noise <= (4 |x - max| + 4 + ceil(columns / 512) + 9) *
/// 2^-53, |x - max| that of the
///          terms that matter; of first the same and one more.
/// Bits     equal on every backend and instruction set.
struct RowMoments {
  double sum = 0;            ///< sum e
  double first = 0;          ///< sum e (x - max)
  double square = 0;         ///< sum e^2
  double noise = 0;          ///< sum e^2 u^2
  double tail = 0;           ///< sum e without column argmax: sum - 1, before that was rounded
  double tail_noise = 0;     ///< sum e^2 u^2 without column argmax
  float max = 0;             ///< largest value of the row's columns; -inf if none; a maximum of zero is +0
  float reserved = 0;        ///< no padding bytes: the struct is compared and hashed as bytes
  std::int64_t argmax = -1;  ///< the lowest column that holds max, if that is above -inf; else -1
};

/// What the sums come to.
struct RowSpread {
  double lse = 0;      ///< log sum exp(x), fp64: max + log sum, within 2^-48 + 2^-53 |lse| of it
  double entropy = 0;  ///< -sum p log p = log sum - first / sum, nats
  double sum_p2 = 0;   ///< sum p^2 = square / sum^2
  double sigma = 0;    ///< noise of the target's log-prob, nats: below
};

/// Entropy, sum p^2 and sigma of a row, the same bits on every platform. `target_value`: the target's value
/// x_t as the sums saw it; not finite (no target): sigma is NaN. `target_ulp`: u_t, that is ulp_of the
/// target's stored value / temperature. All NaN if the sums are, or if the row had no value.
///
/// Where sigma comes from. A stored logit s_v is the true one rounded to its dtype: off by an error that is
/// uniform within half an ulp either way, independent from column to column, of variance ulp^2 / 12. With x =
/// s / T the log-prob x_t - log sum_v exp(x_v) has the derivative (delta_vt - p_v) / T by s_v. To first
/// order, then,
///     sigma^2 = sum_v (delta_vt - p_v)^2 u_v^2 / 12,   u_v = ulp(s_v) / T
///             = [(1 - p_t)^2 u_t^2 + sum_{v != t} p_v^2 u_v^2] / 12.
/// A target that is the row's maximum has 1 - p_t = tail / sum and its second part from tail_noise: nothing
/// cancels, however confident the row. Any other has p_t <= 1/2, and noise / sum^2 - p_t^2 u_t^2 loses less
/// than its first part weighs.
RowSpread spread_of(const RowMoments& moments, float target_value, float target_ulp);

/// Distance from |widened| (an exact value of `stored`) to the next larger value of `stored`, in units of the
/// logit, before any temperature; 0 for values that are not finite. F64: of the rounded value, and at least
/// 2^-149, fp32's least.
float ulp_of(Dtype stored, float widened);

namespace cpu {

/// out[r] of each row over the shard's real columns. Never traps, whatever the row holds.
void row_moments(const LogitsView& logits, RowMoments* out);

}  // namespace cpu
}  // namespace drift
