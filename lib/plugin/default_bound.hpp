#pragma once

// What a plug-in's numbers may be off by where it does not say so itself.

#include "base/dtype.hpp"
#include "formulas/formula.hpp"

namespace drift {

/// Largest |lse - exact lse| in nats of an fp32 kernel of unknown order.
///
/// It is granted megatron-unfused's arithmetic, which most fused kernels do no worse than: x - max rounded,
/// which moves log S by log V * 2^-24 in the mean over the row's probabilities; exp good to 2 ulp; at least
/// 512 partial sums a shard, folded in nine levels, and one addition a rank; log good to 1 ulp; one rounding
/// of max + log S. Longer running sums than V / 512 terms are beyond it on purpose: one sum over 150,000
/// columns is off by 1e-4 and more, and whoever wants that states it (drift_plugin_info::lse_bound).
double default_lse_bound(const BoundInput& in);

/// The same for logp. Whether it is (x_t - max) - log S, which rounds twice, or x_t - fp32(lse), which rounds
/// lse and once more, is not known: both are allowed for. A 16-bit `output` (BF16, F16) adds one ulp of that
/// type.
double default_logp_bound(const BoundInput& in, Dtype output);

}  // namespace drift
