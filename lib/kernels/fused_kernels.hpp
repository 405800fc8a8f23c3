#pragma once

// The bodies that instruction_set.hpp's files compile: rows and tiles around tree_tile.hpp, and exp_minus.

#include <limits>

#include "kernels/tree_sum.hpp"
#include "kernels/tree_tile.hpp"

namespace drift::cpu {

inline void tree_sum_body(const LogitsView& logits, const TreePlan& plan, std::int64_t slots,
                          TreeValue* out) {
  TileScratch scratch;
  for (std::int64_t r = 0; r < logits.rows; ++r) {
    const std::byte* row = logits.row(r);
    TreeValue* values = out + r * slots;
    std::fill(values, values + slots, TreeValue{});
    std::size_t next = 0;
    scratch.expect_small = true;
    for (const TreeNode& subtree : plan.subtrees) {
      fixed_tree::Fold fold;
      for (; next < plan.tiles.size() && plan.tiles[next].slot == subtree.slot; ++next) {
        const TreeNode& tile = plan.tiles[next];
        const std::int64_t count = std::min(tile.end(), plan.vocab) - tile.begin();
        const std::int64_t offset = (tile.begin() - logits.columns.begin) * logits.bytes_per_element();
        fold.push(tile.level, tile.index, sum_stored_tile(logits.rule, row + offset, count, scratch));
      }
      values[subtree.slot] = fold.finish();
    }
  }
}

inline void exp_minus_body(const float* x, std::int64_t count, float shift, float* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float difference = x[i] - shift;
    const float value = fixed_tree::scaled_leaf(difference, fixed_tree::round_magic);
    const float from_below = difference < -86.6f ? 0.0f : value;
    out[i] = difference > 88.0f ? std::numeric_limits<float>::infinity() : from_below;
  }
}

}  // namespace drift::cpu
