//   M    = max_v x_v                       (all-reduce max)
//   P    = x_target                        (all-reduce sum: the owner's value, zeros elsewhere)
//   S    = sum_v exp(x_v - M)              (all-reduce sum)
//   logp = -(log S - (P - M));  LSE = M + log S
//
// Megatron-core's unfused vocab-parallel cross entropy (core/tensor_parallel/cross_entropy.py). The sum is over shards, so
// bits depend on the TP degree; with nccl also on how NCCL sums, which may change with the number of rows in flight.

#include <cmath>

#include "base/ulp.hpp"
#include "formulas/formula.hpp"

namespace drift {
namespace {

void run(const FormulaInput& in, RowResult out) {
  const std::int64_t rows = in.logits.rows;
  Buffer max = in.on.allocate(rows * 4), sum = in.on.allocate(rows * 4), target = in.on.allocate(rows * 4);
  in.on.row_max(in.logits, max.as<float>());
  in.tp.all_reduce(max.as<float>(), rows, Reduce::max);
  in.on.row_target(in.logits, in.targets, target.as<float>());
  in.tp.all_reduce(target.as<float>(), rows, Reduce::sum);
  in.on.row_sum_exp(in.logits, max.as<float>(), sum.as<float>());
  in.tp.all_reduce(sum.as<float>(), rows, Reduce::sum);
  in.on.row_log_prob(max.as<float>(), sum.as<float>(), target.as<float>(), in.targets, rows, out);
}

// Relative error of S, which is the absolute error of log S. Rounding x - M moves a term by |x - M| * 2^-24, in the mean
// over the row's probabilities M - E[x] <= entropy <= log V; exp is good to 2 ulp (4 * 2^-24); 512 running sums, nine
// levels, then one addition a rank. Then log itself, 1 ulp of a number in [0, log V].
double log_sum_error(const BoundInput& in) {
  const double log_vocab = std::log(static_cast<double>(in.vocab));
  const auto terms = static_cast<double>((in.widest_shard + 511) / 512);
  return (log_vocab + 4 + terms + 9 + in.tp) * 0x1p-24 + ulp32(log_vocab);
}

const Registered entry{{
    .id = "megatron-unfused",
    .summary = "all-reduce max, then all-reduce the sums of exp; fp32",
    .used_by = "Megatron-core vocab_parallel_cross_entropy; verl, ms-swift on Megatron",
    .claims = {},
    .reduction = {.merge = "all_reduce max, all_reduce sum",
                  .acc_dtype = "F32",
                  .order = "512 strided sums a shard, halving tree, then the all_reduce's order over ranks",
                  .downcast_at = "every operation rounds to F32"},
    .refuses = [](const FormulaRun&) { return std::string(); },
    // M + log S rounds once; (P - M) and the difference round once each, and |P - M| <= |logp|.
    .lse_bound = [](const BoundInput& in) { return 0.5 * ulp32(in.lse) + log_sum_error(in); },
    .logp_bound = [](const BoundInput& in) { return ulp32(in.logp) + log_sum_error(in); },
    .run = run,
}};

}  // namespace
}  // namespace drift
