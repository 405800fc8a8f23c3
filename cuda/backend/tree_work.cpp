#include "backend/tree_work.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"

namespace drift {

HostTreeWork tree_work(const LogitsView& logits, const TreePlan& plan) {
  HostTreeWork out;
  out.work.tiles = static_cast<std::int64_t>(plan.tiles.size());
  const std::int64_t end = logits.real().end;
  for (std::int64_t at = 0; at < out.work.tiles; ++at) {
    const TreeNode& node = plan.tiles[static_cast<std::size_t>(at)];
    if (node.level == tile_level && node.end() <= end) {
      if (out.work.full_count++ == 0) {
        out.work.full_first = node.index;
        out.work.full_at = at;
      }
      require(node.index == out.work.full_first + out.work.full_count - 1, Fault::internal,
              "complete tiles of a shard are not adjacent, seen tile " + std::to_string(node.index));
    } else {
      out.edges.push_back({node.begin(), std::min(node.end(), end), at});
    }
  }
  std::int64_t at = 0;
  for (const TreeNode& node : plan.subtrees) {
    cuda::SubtreeFold fold{at, 0, std::int64_t{1} << std::max(0, node.level - tile_level)};
    while (at < out.work.tiles && plan.tiles[static_cast<std::size_t>(at)].begin() < node.end()) ++at;
    fold.count = at - fold.first;
    out.folds.push_back(fold);
  }
  out.work.edge_count = static_cast<std::int64_t>(out.edges.size());
  out.work.fold_count = static_cast<std::int64_t>(out.folds.size());
  return out;
}

}  // namespace drift
