#pragma once

#include "kernels/views.hpp"

namespace drift::cpu {

/// out[r] = sum over the shard's real columns of exp(x - shift[r]), fp32; 0 if it has none.
///
/// Formula  each term is fp32 exp of the fp32 difference x - shift (both rounded).
/// Order    512 accumulators: column c of the shard goes to accumulator (c - columns.begin) mod 512, ascending; then
///          accumulators are folded in halves, a[i] += a[i + h] for h = 256, 128, ..., 1.
/// -inf     adds exp(-inf) = 0; a shift of -inf gives NaN, which only a row without a finite value can meet.
/// Bound    relative error <= (2 ulp of exp + rounding of x - shift, |x - shift| * 2^-24, + (ceil(columns / 512) + 9))
///          * 2^-24, of the exact sum. Bits differ between CPU and GPU: exp is the platform's
///          (on CPUs exp_minus of instruction_set.hpp, within 1.3 ulp, 0 for terms below 2^-125).
void row_sum_exp(const LogitsView& logits, const float* shift, float* out);

}  // namespace drift::cpu
