// The statistics against numbers worked out by hand, and the edges where statistics usually lie.

#include "stats/drift.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "base/error.hpp"
#include "stats/percentile.hpp"
#include "support/catch.hpp"

using namespace drift;

namespace {

constexpr float nan32 = std::numeric_limits<float>::quiet_NaN();
constexpr float inf32 = std::numeric_limits<float>::infinity();

float up(float x, int ulps) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) + static_cast<unsigned>(ulps));
}

}  // namespace

TEST_CASE("drift_of: a small example by hand") {
  const std::vector<float> c{1.5f, -2.0f, 4.0f, 0.0f, 9.0f};
  const std::vector<float> r{1.0f, -2.0f, 4.25f, -0.0f, 0.0f};
  const std::vector<std::uint8_t> use{1, 1, 1, 1, 0};
  const Drift d = drift_of(c, r, use);
  CHECK(d.count == 4);
  CHECK(d.nonfinite == 0);
  CHECK(d.mismatch_count == 2);
  CHECK(d.bit_mismatch_count == 3);  // 0.0 and -0.0 differ in bits, not in value
  CHECK(d.max_abs == 0.5);
  CHECK(d.mean_abs == 0.75 / 4);
  CHECK(d.mean == 0.25 / 4);
  CHECK(d.rms == std::sqrt((0.25 + 0.0625) / 4));
  CHECK(d.p50 == 0.0);  // sorted 0 0 .25 .5, rank 2
  CHECK(d.p95 == 0.5);
  CHECK(d.max_rel == 0.5);
  CHECK(d.max_ulp == ulp_distance(1.5f, 1.0f));
  CHECK(d.ulp_histogram == std::map<std::int64_t, std::int64_t>{{0, 2}, {1 << 19, 1}, {1 << 22, 1}});
}

TEST_CASE("drift_of: the sign of the mean is candidate minus reference") {
  const std::vector<float> c{-1.0f}, r{-0.5f};
  const std::vector<std::uint8_t> use{1};
  CHECK(drift_of(c, r, use).mean == -0.5);
}

TEST_CASE("drift_of: values that are not finite are counted and left out") {
  const std::vector<float> c{nan32, 1.0f, inf32, -inf32, 2.0f, nan32};
  const std::vector<float> r{1.0f, nan32, 1.0f, -inf32, 1.5f, nan32};
  const std::vector<std::uint8_t> use{1, 1, 1, 1, 1, 0};
  const Drift d = drift_of(c, r, use);
  CHECK(d.count == 1);
  CHECK(d.nonfinite == 4);  // the last row should not have been compared
  CHECK(d.max_abs == 0.5);
  CHECK(d.rms == 0.5);
}

TEST_CASE("drift_of: nothing compared gives NaN for every double, so that it never looks like no drift") {
  struct Column {
    std::vector<float> candidate, reference;
    std::vector<std::uint8_t> use;
    std::int64_t nonfinite;
  };
  for (const Column& column :
       {Column{{}, {}, {}, 0}, Column{{1}, {2}, {0}, 0}, Column{{nan32, 1}, {1, inf32}, {1, 1}, 2}}) {
    const Drift d = drift_of(column.candidate, column.reference, column.use);
    for (const double value : {d.max_abs, d.mean_abs, d.mean, d.rms, d.p50, d.p95, d.p99, d.p999, d.max_rel})
      CHECK(std::isnan(value));
    CHECK(d.count == 0);
    CHECK(d.nonfinite == column.nonfinite);
    CHECK(d.mismatch_count == 0);
    CHECK(d.bit_mismatch_count == 0);
    CHECK(d.max_ulp == 0);
    CHECK(d.ulp_histogram.empty());
  }
}

TEST_CASE("drift_of: a difference that fp32 would round is exact") {
  const std::vector<float> c{0x1p24f}, r{0x1p-3f};
  const std::vector<std::uint8_t> use{1};
  CHECK(drift_of(c, r, use).max_abs == 0x1p24 - 0x1p-3);
}

TEST_CASE("drift_of: max_rel has a floor under the denominator") {
  const std::vector<float> c{1e-12f}, r{0.0f};
  const std::vector<std::uint8_t> use{1};
  CHECK(drift_of(c, r, use).max_rel == static_cast<double>(1e-12f) / 1e-12);
}

TEST_CASE("drift_of: histogram bins are closed above") {
  std::vector<float> c, r;
  for (const int ulps : {0, 1, 2, 3, 4, 5, 8, 9}) {
    r.push_back(1.0f);
    c.push_back(up(1.0f, ulps));
  }
  const std::vector<std::uint8_t> use(c.size(), 1);
  const Drift d = drift_of(c, r, use);
  CHECK(d.ulp_histogram ==
        std::map<std::int64_t, std::int64_t>{{0, 1}, {1, 1}, {2, 1}, {4, 2}, {8, 2}, {16, 1}});
  CHECK(d.max_ulp == 9);
}

TEST_CASE("drift_of: the farthest two finite values fit the histogram") {
  const float largest = std::numeric_limits<float>::max();
  const std::vector<float> c{largest}, r{-largest};
  const std::vector<std::uint8_t> use{1};
  const Drift d = drift_of(c, r, use);
  CHECK(d.max_ulp == 2 * std::int64_t{0x7f7fffff});
  CHECK(d.ulp_histogram == std::map<std::int64_t, std::int64_t>{{std::int64_t{1} << 32, 1}});
  CHECK(d.max_abs == 2 * static_cast<double>(largest));
}

TEST_CASE("drift_of: columns of different length are a broken invariant") {
  const std::vector<float> two{1, 2}, one{1};
  const std::vector<std::uint8_t> use{1, 1};
  CHECK_THROWS_AS(drift_of(two, one, use), Error);
  CHECK_THROWS_AS(worst_rows(two, two, std::vector<std::uint8_t>{1}, 3), Error);
}

TEST_CASE("nearest_ranks: ranks are whole values, rounded up") {
  std::vector<double> values(1000);
  for (int i = 0; i < 1000; ++i)
    values[static_cast<std::size_t>(i)] = (i * 7 + 3) % 1000 + 1;  // a permutation of 1..1000
  const std::vector<int> permille{1, 500, 950, 990, 999, 1000};
  CHECK(nearest_ranks(values, permille) == std::vector<double>{1, 500, 950, 990, 999, 1000});
  std::vector<double> one{4.0};
  CHECK(nearest_ranks(one, permille) == std::vector<double>(6, 4.0));
  std::vector<double> none;
  CHECK(std::isnan(nearest_ranks(none, std::vector<int>{500}).at(0)));
  std::vector<double> three{3, 1, 2};
  CHECK(nearest_ranks(three, std::vector<int>{333, 334, 666, 667}) == std::vector<double>{1, 2, 2, 3});
}

TEST_CASE("nearest_ranks: agrees with a sorted copy on random lengths") {
  std::mt19937 random(7);
  const std::vector<int> permille{500, 950, 990, 999};
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<double> values(1 + random() % 300);
    for (double& v : values) v = static_cast<double>(random() % 50);
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    std::vector<double> expected;
    for (const int p : permille)
      expected.push_back(sorted[(sorted.size() * static_cast<std::size_t>(p) + 999) / 1000 - 1]);
    CHECK(nearest_ranks(values, permille) == expected);
  }
}

TEST_CASE("drift_of: ten million rows keep their percentiles and their sum", "[big]") {
  constexpr std::size_t rows = 10'000'000;
  std::vector<float> c(rows), r(rows, 0.0f);
  const std::vector<std::uint8_t> use(rows, 1);
  for (std::size_t i = 0; i < rows; ++i)
    c[i] = static_cast<float>((i * 7'654'321) % rows + 1);  // 1..10^7, each once
  const Drift d = drift_of(c, r, use);
  CHECK(d.count == static_cast<std::int64_t>(rows));
  CHECK(d.p50 == 5'000'000);
  CHECK(d.p95 == 9'500'000);
  CHECK(d.p99 == 9'900'000);
  CHECK(d.p999 == 9'990'000);
  CHECK(d.mean == 5'000'000.5);
  const auto worst = worst_rows(c, r, use, 2);
  REQUIRE(worst.size() == 2);
  CHECK(worst[0].candidate == 10'000'000);
  CHECK(worst[1].candidate == 9'999'999);
}

TEST_CASE("worst_rows: by |d| descending, then row ascending, zeros too") {
  const std::vector<float> c{1, 3, -3, 0, 5, nan32}, r{1, 0, 0, 0, 0, 0};
  const std::vector<std::uint8_t> use{1, 1, 1, 1, 0, 1};
  const auto rows = [&](std::int64_t k) {
    std::vector<std::int64_t> out;
    for (const WorstRow& w : worst_rows(c, r, use, k)) out.push_back(w.row);
    return out;
  };
  CHECK(rows(10) == std::vector<std::int64_t>{1, 2, 0, 3});
  CHECK(rows(3) == std::vector<std::int64_t>{1, 2, 0});
  CHECK(rows(1) == std::vector<std::int64_t>{1});
  CHECK(rows(0).empty());
  CHECK(worst_rows(c, r, use, 1)[0].candidate == 3);
}

TEST_CASE("worst_rows: agrees with a full sort on random rows with many ties") {
  std::mt19937 random(11);
  for (int trial = 0; trial < 100; ++trial) {
    std::vector<float> c(64), r(64, 0.0f);
    std::vector<std::uint8_t> use(64);
    for (std::size_t i = 0; i < 64; ++i) {
      c[i] = static_cast<float>(static_cast<int>(random() % 9)) - 4.0f;
      use[i] = random() % 4 != 0;
    }
    std::vector<std::int64_t> order;
    for (std::int64_t i = 0; i < 64; ++i)
      if (use[static_cast<std::size_t>(i)]) order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return std::fabs(c[static_cast<std::size_t>(a)]) > std::fabs(c[static_cast<std::size_t>(b)]);
    });
    order.resize(std::min<std::size_t>(order.size(), 16));
    std::vector<std::int64_t> got;
    for (const WorstRow& w : worst_rows(c, r, use, 16)) got.push_back(w.row);
    CHECK(got == order);
  }
}
