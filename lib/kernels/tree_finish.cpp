// The end of fixed-tree on a CPU: a few dozen nodes a row.

#include <limits>

#include "kernels/fixed_tree.hpp"
#include "kernels/read_values.hpp"
#include "kernels/tree_sum.hpp"

namespace drift::cpu {
namespace {

/// What the target's owner sent for row r.
float target_value(const std::byte* blocks, const TreeMerge& merge, std::int64_t target, std::int64_t rows,
                   std::int64_t r) {
  for (std::size_t rank = 0; rank + 1 < merge.bounds.size(); ++rank) {
    if (!Range{merge.bounds[rank], merge.bounds[rank + 1]}.contains(target)) continue;
    const std::byte* block = blocks + static_cast<std::int64_t>(rank) * merge.block_bytes(rows);
    return load<float>(block + rows * merge.slots * 8, r);
  }
  return std::numeric_limits<float>::quiet_NaN();
}

}  // namespace

void tree_finish(const std::byte* blocks, const TreeMerge& merge, const std::int64_t* targets,
                 std::int64_t rows, RowResult out) {
  for (std::int64_t r = 0; r < rows; ++r) {
    fixed_tree::Fold fold;
    for (const TreeMerge::Source& source : merge.sources) {
      const std::byte* block = blocks + source.tp_rank * merge.block_bytes(rows);
      fold.push(source.node.level, source.node.index,
                load<TreeValue>(block, r * merge.slots + source.node.slot));
    }
    const double lse = fixed_tree::log_of(fold.finish());
    out.lse[r] = fixed_tree::lse_of(lse);
    out.logp[r] = targets[r] < 0
                      ? std::numeric_limits<float>::quiet_NaN()
                      : fixed_tree::log_prob_of(target_value(blocks, merge, targets[r], rows, r), lse);
  }
}

}  // namespace drift::cpu
