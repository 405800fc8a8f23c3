#include "kernels/tree_plan.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "support/catch.hpp"
#include "topology/shard.hpp"

using namespace drift;

namespace {

using Spans = std::vector<std::pair<std::int64_t, std::int64_t>>;

Spans spans(const std::vector<TreeNode>& nodes) {
  Spans out;
  for (const TreeNode& node : nodes) out.emplace_back(node.begin(), node.end());
  return out;
}

}  // namespace

TEST_CASE("maximal_subtrees: a shard's columns as the fewest aligned powers of two") {
  CHECK(spans(maximal_subtrees({0, 8}, 8)) == Spans{{0, 8}});
  CHECK(spans(maximal_subtrees({3, 7}, 100)) == Spans{{3, 4}, {4, 6}, {6, 7}});
  CHECK(spans(maximal_subtrees({1, 8}, 100)) == Spans{{1, 2}, {2, 4}, {4, 8}});
  CHECK(spans(maximal_subtrees({0, 6}, 100)) == Spans{{0, 4}, {4, 6}});
}

TEST_CASE("maximal_subtrees: the shard that reaches the vocabulary's end owns the zeros after it") {
  CHECK(spans(maximal_subtrees({0, 5}, 5)) == Spans{{0, 8}});
  CHECK(spans(maximal_subtrees({0, 9}, 5)) == Spans{{0, 8}});
  CHECK(spans(maximal_subtrees({4, 20}, 5)) == Spans{{4, 8}});
  CHECK(spans(maximal_subtrees({3, 6}, 5)) == Spans{{3, 4}, {4, 8}});
  CHECK(spans(maximal_subtrees({0, 1}, 1)) == Spans{{0, 1}});
}

TEST_CASE("maximal_subtrees: shards of padding and empty shards hold none") {
  CHECK(maximal_subtrees({5, 9}, 5).empty());
  CHECK(maximal_subtrees({3, 3}, 5).empty());
  CHECK(maximal_subtrees({0, 0}, 5).empty());
}

TEST_CASE("tree plans: few subtrees, tiles of at most 2048 columns that cover the real columns once") {
  for (const std::int64_t vocab : {1, 2, 5, 2047, 2048, 2049, 32000, 151669})
    for (int tp = 1; tp <= 9; ++tp) {
      const VocabBounds bounds = even_bounds(vocab + 395, tp);
      for (int rank = 0; rank < tp; ++rank) {
        CAPTURE(vocab, tp, rank);
        const TreePlan plan = make_tree_plan(bounds.columns(rank), vocab);
        CHECK(plan.subtrees.size() <= 36);  // 2 * log2(151669), rounded up
        std::int64_t at = bounds.columns(rank).begin;
        for (const TreeNode& tile : plan.tiles) {
          REQUIRE(tile.begin() == at);
          REQUIRE(tile.level <= tile_level);
          REQUIRE(tile.begin() < vocab);
          const TreeNode& subtree = plan.subtrees[static_cast<std::size_t>(tile.slot)];
          REQUIRE(subtree.begin() <= tile.begin());
          REQUIRE(tile.end() <= subtree.end());
          at = tile.end();
        }
        CHECK(at >= std::min(vocab, bounds.columns(rank).end));
      }
    }
}

TEST_CASE("make_tree_merge: every rank's nodes in column order, slots for the rank with most") {
  const std::vector<std::int64_t> bounds{0, 3, 3, 7, 12};
  const TreeMerge merge = make_tree_merge(bounds, 9);
  REQUIRE(merge.sources.size() == 7);
  CHECK(merge.slots == 3);
  CHECK(merge.bounds == bounds);
  CHECK(merge.block_bytes(2) == 2 * (3 * 8 + 4));
  const int ranks[] = {0, 0, 2, 2, 2, 3, 3};
  std::int64_t at = 0;
  for (std::size_t i = 0; i < 7; ++i) {
    CHECK(merge.sources[i].tp_rank == ranks[i]);
    CHECK(merge.sources[i].node.begin() == at);
    at = merge.sources[i].node.end();
  }
  CHECK(at == 16);
  CHECK(make_tree_merge(std::vector<std::int64_t>{0, 0, 4}, 1).slots == 1);
}

TEST_CASE("tree plans: a vocabulary that no fold could hold is refused") {
  CHECK_THROWS_AS(make_tree_plan({0, 10}, (std::int64_t{1} << 32) + 1), Error);
}
