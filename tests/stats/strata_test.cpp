// Which bin a row falls into, at every edge.

#include "stats/strata.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace drift;

namespace {

struct Rows {
  explicit Rows(std::size_t rows) : candidate(rows), reference(rows), use(rows, 1), active(rows, 1) {
    sequences = {{0, static_cast<std::int64_t>(rows)}};
  }
  std::vector<float> candidate, reference;
  std::vector<std::uint8_t> use, active;
  std::vector<Range> sequences;
  std::vector<std::int32_t> owner, cp_chunk;

  std::vector<Strata> strata() const {
    return strata_of({candidate, reference, use, active, sequences, owner, cp_chunk});
  }
};

/// "name:count name:count ..." of one table; "no table" if there is none.
std::string counts(const std::vector<Strata>& all, const std::string& by) {
  for (const Strata& table : all) {
    if (table.by != by) continue;
    std::string out;
    for (const Stratum& stratum : table.strata)
      out += (out.empty() ? "" : " ") + stratum.name + ":" + std::to_string(stratum.count);
    return out;
  }
  return "no table";
}

}  // namespace

TEST_CASE("strata: log-prob bins hold their upper edge, as fp32 writes it") {
  Rows rows(18);
  rows.reference = {0,   -0.0f, -0.01f, -0.0101f, -0.1f, std::nextafter(-0.1f, -1.0f),
                    -1,  -1.5f, -2,     -2.5f,    -5,    -6,
                    -10, -11,   -20,    -20.001f, 0.05f, -1e30f};
  CHECK(counts(rows.strata(), "logp") ==
        "0..0.01:3 0.01..0.1:3 0.1..1:2 1..2:2 2..5:2 5..10:2 10..20:2 >20:2");
}

TEST_CASE("strata: positions and sequence edges in powers of two, from each sequence's own ends") {
  Rows rows(10);
  rows.sequences = {{0, 9}, {9, 10}};
  const std::vector<Strata> all = rows.strata();
  CHECK(counts(all, "position") == "0:2 1:1 2..3:2 4..7:4 8..15:1");
  CHECK(counts(all, "sequence_edge") == "0:3 1:2 2..3:4 4..7:1");
}

TEST_CASE(
    "strata: segments are runs of the mask within a sequence, and distance is to the nearer end of the run") {
  Rows rows(12);
  rows.active = {0, 1, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1};
  rows.use = rows.active;
  rows.sequences = {{0, 7}, {7, 12}};  // the second run is cut by the sequence's end
  const std::vector<Strata> all = rows.strata();
  CHECK(counts(all, "segment") == "0:5 1:4");
  CHECK(counts(all, "mask_edge") == "0:8 1:1");
  rows.use = std::vector<std::uint8_t>(12, 1);  // rows outside the mask are in no segment
  CHECK(counts(rows.strata(), "segment") == "0:5 1:4");
  CHECK(counts(rows.strata(), "sequence_edge") == "0:4 1:4 2..3:4");
  rows.use = std::vector<std::uint8_t>(12, 0);  // rows that are not compared still make the runs
  rows.use[5] = rows.use[10] = 1;
  CHECK(counts(rows.strata(), "segment") == "1:2");
}

TEST_CASE("strata: the seventeenth segment and all later ones share a bin") {
  Rows rows(40);
  for (std::size_t r = 0; r < 40; ++r) rows.active[r] = r % 2 == 0;
  rows.use = rows.active;
  const std::string seen = counts(rows.strata(), "segment");
  CHECK(seen.find("15:1 16 and later:4") != std::string::npos);
  CHECK(seen.starts_with("0:1 1:1 "));
}

TEST_CASE("strata: tables of owners and chunks exist where they were given") {
  Rows rows(4);
  CHECK(counts(rows.strata(), "owner_tp_rank") == "no table");
  CHECK(counts(rows.strata(), "cp_chunk") == "no table");
  rows.owner = {1, -1, 1, 0};
  rows.cp_chunk = {3, 3, 0, 0};
  CHECK(counts(rows.strata(), "owner_tp_rank") == "tp 0:1 tp 1:2");
  CHECK(counts(rows.strata(), "cp_chunk") == "chunk 0:2 chunk 3:2");
  std::vector<std::string> order;
  for (const Strata& table : rows.strata()) order.push_back(table.by);
  CHECK(order == std::vector<std::string>{"logp", "position", "mask_edge", "sequence_edge", "segment",
                                          "owner_tp_rank", "cp_chunk"});
}

TEST_CASE("strata: the numbers of a bin") {
  Rows rows(4);
  rows.reference = {-0.5f, -0.5f, -0.5f, -3};
  rows.candidate = {-0.25f, -0.5f, -1, -3};
  const std::vector<Strata> all = rows.strata();
  const Stratum& low = all[0].strata.at(0);
  CHECK(low.name == "0.1..1");
  CHECK(low.count == 3);
  CHECK(low.mismatch_count == 2);
  CHECK(low.mean == -0.25 / 3);
  CHECK(low.mean_abs == 0.25);
  CHECK(low.rms == std::sqrt((0.0625 + 0.25) / 3));
  CHECK(low.max_abs == 0.5);
  CHECK(all[0].strata.at(1).max_abs == 0);
}

TEST_CASE("strata: rows that are not compared or not finite are in no bin") {
  Rows rows(3);
  rows.candidate[0] = std::numeric_limits<float>::quiet_NaN();
  rows.reference[1] = -std::numeric_limits<float>::infinity();
  rows.use[2] = 0;
  for (const Strata& table : rows.strata()) CHECK(table.strata.empty());
  CHECK(Rows(0).strata().size() == 5);
}

TEST_CASE("strata: columns or sequences that do not fit are a broken invariant") {
  Rows rows(4);
  rows.owner = {1};
  CHECK_THROWS_AS(rows.strata(), Error);
  rows.owner = {1 << 30, 0, 0, 0};
  CHECK_THROWS_AS(rows.strata(), Error);
  rows.owner.clear();
  for (const std::vector<Range>& sequences :
       {std::vector<Range>{}, {{0, 3}}, {{0, 5}}, {{1, 4}}, {{0, 2}, {1, 4}}}) {
    rows.sequences = sequences;
    CHECK_THROWS_AS(rows.strata(), Error);
  }
}
