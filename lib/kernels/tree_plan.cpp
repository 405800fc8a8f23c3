#include "kernels/tree_plan.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "base/error.hpp"

namespace drift {
namespace {

/// The tree's last column: the width of the root.
std::int64_t root_width(std::int64_t vocab) {
  require(vocab >= 0 && vocab <= std::int64_t{1} << 32, Fault::input,
          "the vocabulary is too large for the fixed tree (its fold holds 2 * 32 waiting nodes), seen " +
              std::to_string(vocab) + " columns, wanted at most 4294967296");
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(vocab)));
}

int floor_log2(std::int64_t positive) { return 63 - std::countl_zero(static_cast<std::uint64_t>(positive)); }

}  // namespace

std::vector<TreeNode> maximal_subtrees(Range columns, std::int64_t vocab) {
  const std::int64_t width = root_width(vocab);
  const std::int64_t end = columns.end >= vocab ? width : columns.end;
  std::vector<TreeNode> out;
  for (std::int64_t at = columns.begin; at < std::min(columns.end, vocab);) {
    int level = floor_log2(end - at);  // as large as what is left,
    if (at > 0) level = std::min(level, std::countr_zero(static_cast<std::uint64_t>(at)));  // and aligned
    out.push_back({at >> level, level, static_cast<std::int32_t>(out.size())});
    at += std::int64_t{1} << level;
  }
  return out;
}

std::vector<TreeNode> tiles_of(std::span<const TreeNode> nodes, std::int64_t vocab) {
  std::vector<TreeNode> out;
  for (const TreeNode& node : nodes) {
    const int level = std::min(node.level, tile_level);
    for (std::int64_t at = node.begin(); at < std::min(node.end(), vocab); at += std::int64_t{1} << level)
      out.push_back({at >> level, level, node.slot});
  }
  return out;
}

TreePlan make_tree_plan(Range columns, std::int64_t vocab) {
  TreePlan plan;
  plan.subtrees = maximal_subtrees(columns, vocab);
  plan.tiles = tiles_of(plan.subtrees, vocab);
  plan.vocab = vocab;
  return plan;
}

TreeMerge make_tree_merge(std::span<const std::int64_t> bounds, std::int64_t vocab) {
  TreeMerge merge;
  merge.bounds.assign(bounds.begin(), bounds.end());
  merge.slots = 1;
  for (std::size_t rank = 0; rank + 1 < bounds.size(); ++rank) {
    const std::vector<TreeNode> nodes = maximal_subtrees({bounds[rank], bounds[rank + 1]}, vocab);
    for (const TreeNode& node : nodes) merge.sources.push_back({node, static_cast<std::int32_t>(rank), 0});
    merge.slots = std::max(merge.slots, static_cast<std::int64_t>(nodes.size()));
  }
  return merge;
}

}  // namespace drift
