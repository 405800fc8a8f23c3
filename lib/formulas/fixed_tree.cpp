//   S    = sum of 2^(x_v * log2 e) over a binary tree whose node (j, k) covers columns [k*2^j, (k+1)*2^j)
//   LSE  = fp32(log S);  logp = fp32(min(0, x_target - log S))
//
// A rank sends the maximal subtrees of its shard and its target values in one all-gather; every rank finishes the same
// tree. A node's value is rounded to 24 bits with an unbounded exponent, so nothing but the row's real logits decides a
// bit: not TP, shard bounds, padding, rows, chunks, transport or backend (kernels/fixed_tree.hpp).

#include <bit>

#include "formulas/formula.hpp"
#include "base/ulp.hpp"

namespace drift {
namespace {

void run(const FormulaInput& in, RowResult out) {
  const std::int64_t rows = in.logits.rows;
  const TreePlan plan = make_tree_plan(in.logits.columns, in.logits.vocab);
  const TreeMerge merge = make_tree_merge(in.bounds.bounds, in.logits.vocab);

  const std::int64_t block = merge.block_bytes(rows);
  Buffer mine = in.on.allocate(block);
  Buffer all = in.on.allocate(block * in.tp.size());
  in.on.tree_sum(in.logits, plan, merge.slots, mine.as<TreeValue>());
  in.on.row_target(in.logits, in.targets, reinterpret_cast<float*>(mine.as<TreeValue>() + rows * merge.slots));
  in.tp.all_gather(mine.data(), all.data(), block);
  in.on.tree_finish(all.data(), merge, in.targets, rows, out);
}

// Leaves are off by 1.7 * 2^-24 at most, each of ceil(log2 V) levels rounds once, and log S moves by the relative error.
double sum_error(const BoundInput& in) {
  const auto levels = static_cast<double>(std::bit_width(static_cast<std::uint64_t>(in.vocab - 1)));
  return (levels + 2) * 0x1p-24;
}

const Registered entry{{
    .id = "fixed-tree",
    .summary = "fixed binary tree over columns, fp32 with unbounded exponent; bits depend on the row's real logits alone",
    .used_by = "drift-audit's reference candidate",
    .claims = {.tp = true, .bounds = true, .padded_width = true, .rows = true, .chunking = true, .backend = true},
    .reduction = {.merge = "all_gather of maximal subtrees",
                  .acc_dtype = "F32 significand, I32 exponent",
                  .order = "binary tree over columns in natural order",
                  .downcast_at = "every tree node to 24 bits; LSE and logp once from F64"},
    .refuses = [](const FormulaRun&) { return std::string(); },
    .lse_bound = [](const BoundInput& in) { return 0.5 * ulp32(in.lse) + sum_error(in); },
    .logp_bound = [](const BoundInput& in) { return 0.5 * ulp32(in.logp) + sum_error(in); },
    .run = run,
}};

}  // namespace
}  // namespace drift
