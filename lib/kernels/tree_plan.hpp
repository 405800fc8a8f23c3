#pragma once

// Which nodes of the fixed binary tree over columns a shard holds, and how all ranks' nodes make the root. Integers only.

#include <cstdint>
#include <span>
#include <vector>

#include "base/range.hpp"

namespace drift {

/// Node (level, index) covers columns [index << level, (index + 1) << level).
struct TreeNode {
  std::int64_t index = 0;
  std::int32_t level = 0;
  std::int32_t slot = 0;  ///< where a rank's value of this node lies among its slots

  constexpr std::int64_t begin() const { return index << level; }
  constexpr std::int64_t end() const { return (index + 1) << level; }
  friend constexpr bool operator==(const TreeNode&, const TreeNode&) = default;
};

/// Levels up to this one are computed from logits by one kernel (2048 columns); higher ones by merging.
inline constexpr int tile_level = 11;

/// The maximal subtrees that lie in `columns`, in column order, without those of padding only (begin >= vocab).
/// A shard that reaches to `vocab` or beyond owns the zeros up to the next power of two: its last node may be large.
/// At most 2 * log2(vocab) of them; none for a shard of padding. slot = position in the list.
/// Throws Fault::input for a vocabulary above 2^32.
std::vector<TreeNode> maximal_subtrees(Range columns, std::int64_t vocab);

/// `nodes` cut into tiles: nodes of level <= tile_level, in column order, without those of padding only.
/// Folding the tiles of one node (fixed_tree::Fold) gives the node; a tile's slot is that of its node.
std::vector<TreeNode> tiles_of(std::span<const TreeNode> nodes, std::int64_t vocab);

/// One rank's part of the tree.
struct TreePlan {
  std::vector<TreeNode> subtrees;  ///< what the rank sends
  std::vector<TreeNode> tiles;     ///< what it computes
  std::int64_t vocab = 0;
};
TreePlan make_tree_plan(Range columns, std::int64_t vocab);

/// Where every rank's nodes lie after the all-gather.
struct TreeMerge {
  struct Source {
    TreeNode node;           ///< node.slot: slot in that rank's block
    std::int32_t tp_rank = 0;
    std::int32_t reserved = 0;
  };
  std::vector<Source> sources;        ///< every rank's subtrees, in column order
  std::vector<std::int64_t> bounds;   ///< vocab bounds, tp + 1 numbers: who owns a target
  std::int64_t slots = 0;             ///< slots a row in each rank's block: the largest count of any rank, at least 1

  /// A rank's block: [rows][slots] TreeValue, then [rows] fp32 target values.
  constexpr std::int64_t block_bytes(std::int64_t rows) const { return rows * (slots * 8 + 4); }
};
TreeMerge make_tree_merge(std::span<const std::int64_t> bounds, std::int64_t vocab);

}  // namespace drift
