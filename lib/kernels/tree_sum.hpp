#pragma once

// fixed-tree: sums of exponentials in the one order that no sharding can change. The maths is in fixed_tree.hpp.

#include "kernels/tree_plan.hpp"
#include "kernels/tree_value.hpp"
#include "kernels/views.hpp"

namespace drift {

namespace cpu {

/// out[r * slots + node.slot] = value of each of plan.subtrees over row r's exponentials, normalised. Slots of no subtree
/// are set to zero. See fixed_tree.hpp for formula, order and bound: every implementation gives the same bits.
/// -inf adds zero; rows with NaN or +inf get unspecified values (their rows are left out) but never trap or hang.
void tree_sum(const LogitsView& logits, const TreePlan& plan, std::int64_t slots, TreeValue* out);

/// Finish every row from all ranks' blocks (TreeMerge::block_bytes each, rank after rank): root, LSE, log-prob.
/// The target's value is the one its owner sent. logp of a row with targets[r] < 0 is the quiet NaN 0x7fc00000.
void tree_finish(const std::byte* blocks, const TreeMerge& merge, const std::int64_t* targets, std::int64_t rows,
                 RowResult out);

}  // namespace cpu
}  // namespace drift
