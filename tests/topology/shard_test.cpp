#include "topology/shard.hpp"

#include "support/catch.hpp"
#include "topology/grid.hpp"

using namespace drift;

TEST_CASE("grid: TP peers are neighbours") {
  const Grid grid{.tp = 4, .cp = 2};
  CHECK(grid.world() == 8);
  for (int rank = 0; rank < 8; ++rank) {
    CHECK(grid.cp_rank(rank) == rank / 4);
    CHECK(grid.tp_rank(rank) == rank % 4);
    CHECK(grid.rank(grid.tp_rank(rank), grid.cp_rank(rank)) == rank);
  }
}

TEST_CASE("even_part: the first size mod parts parts have one more") {
  CHECK(even_part(10, 4, 0) == Range{0, 3});
  CHECK(even_part(10, 4, 1) == Range{3, 6});
  CHECK(even_part(10, 4, 2) == Range{6, 8});
  CHECK(even_part(10, 4, 3) == Range{8, 10});
}

TEST_CASE("even_part: more parts than elements leaves the last ones empty") {
  CHECK(even_part(2, 4, 1) == Range{1, 2});
  CHECK(even_part(2, 4, 2).empty());
  CHECK(even_part(2, 4, 3) == Range{2, 2});
}

TEST_CASE("even_bounds: every column has exactly one owner") {
  for (const int tp : {1, 2, 3, 7, 8, 40}) {
    const VocabBounds bounds = even_bounds(37, tp);
    REQUIRE(bounds.tp() == tp);
    CHECK(bounds.bounds.front() == 0);
    CHECK(bounds.bounds.back() == 37);
    for (std::int64_t column = 0; column < 37; ++column) {
      int owners = 0;
      for (int rank = 0; rank < tp; ++rank) owners += bounds.columns(rank).contains(column);
      CHECK(owners == 1);
      CHECK(bounds.columns(bounds.owner(column)).contains(column));
    }
    CHECK(bounds.owner(37) == -1);
    CHECK(bounds.owner(-1) == -1);
    CHECK(bounds.widest() == (37 + tp - 1) / tp);
  }
}

TEST_CASE("VocabBounds: an owner is found past empty shards") {
  const VocabBounds bounds{{0, 4, 4, 8}};
  CHECK(bounds.owner(3) == 0);
  CHECK(bounds.owner(4) == 2);
  CHECK(bounds.columns(1).empty());
}

TEST_CASE("cp_rows: contiguous parts of the flattened rows") {
  CHECK(cp_rows(1, 8, 2, 0, CpLayout::contiguous) == std::vector<Range>{{0, 4}});
  CHECK(cp_rows(1, 8, 2, 1, CpLayout::contiguous) == std::vector<Range>{{4, 8}});
  CHECK(cp_rows(2, 3, 4, 3, CpLayout::contiguous) == std::vector<Range>{{5, 6}});
}

TEST_CASE("cp_rows: zigzag pairs an early chunk with a late one") {
  CHECK(cp_rows(1, 8, 2, 0, CpLayout::zigzag) == std::vector<Range>{{0, 2}, {6, 8}});
  CHECK(cp_rows(1, 8, 2, 1, CpLayout::zigzag) == std::vector<Range>{{2, 6}});
}

TEST_CASE("cp_rows: zigzag cuts every sequence by itself") {
  CHECK(cp_rows(2, 4, 2, 0, CpLayout::zigzag) == std::vector<Range>{{0, 1}, {3, 5}, {7, 8}});
  CHECK(cp_rows(2, 4, 2, 1, CpLayout::zigzag) == std::vector<Range>{{1, 3}, {5, 7}});
}

TEST_CASE("cp_rows: zigzag gives the first S mod 2cp chunks one row more") {
  // S = 10, cp = 2: chunks of 3, 3, 2, 2 rows
  CHECK(cp_rows(1, 10, 2, 0, CpLayout::zigzag) == std::vector<Range>{{0, 3}, {8, 10}});
  CHECK(cp_rows(1, 10, 2, 1, CpLayout::zigzag) == std::vector<Range>{{3, 8}});
}

TEST_CASE("cp_rows: every row belongs to exactly one rank, whatever cp and S are") {
  for (const CpLayout layout : {CpLayout::contiguous, CpLayout::zigzag})
    for (const int cp : {1, 2, 3, 5, 9})
      for (const std::int64_t sequence : {1, 2, 5, 12}) {
        std::vector<int> owners(static_cast<std::size_t>(3 * sequence));
        for (int rank = 0; rank < cp; ++rank) {
          std::int64_t last = -1;
          for (const Range& range : cp_rows(3, sequence, cp, rank, layout)) {
            CHECK_FALSE(range.empty());
            CHECK(range.begin > last);
            last = range.end;
            for (std::int64_t r = range.begin; r < range.end; ++r) ++owners[static_cast<std::size_t>(r)];
          }
        }
        for (const int count : owners) CHECK(count == 1);
      }
}

TEST_CASE("slice: positions in a list of ranges become ranges") {
  const std::vector<Range> ranges{{2, 5}, {10, 12}, {20, 24}};
  CHECK(count(ranges) == 9);
  CHECK(slice(ranges, {0, 9}) == ranges);
  CHECK(slice(ranges, {1, 4}) == std::vector<Range>{{3, 5}, {10, 11}});
  CHECK(slice(ranges, {5, 6}) == std::vector<Range>{{20, 21}});
  CHECK(slice(ranges, {4, 4}).empty());
}
