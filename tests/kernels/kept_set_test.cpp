// kept_threshold against a full sort in extended precision, and what drop_below and drop_others leave in a
// stored row.

#include "kernels/kept_set.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/read_values.hpp"
#include "kernels/stored_rows.hpp"
#include "support/catch.hpp"

using namespace drift;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();
constexpr Dtype dtypes[] = {Dtype::BF16, Dtype::F16, Dtype::F32, Dtype::F64};

struct Reference {
  std::vector<bool> keeps;
  bool at_boundary = false;
  bool decided = true;  ///< no mass so near the edge of "equal" that fp64 may put it on either side
};

/// The rule by a full sort. `x` has a number in it, no NaN and no +inf.
Reference by_sorting(const std::vector<float>& x, const Truncation& rule) {
  const std::size_t n = x.size();
  std::vector<std::size_t> rank(n);  // ascending, ties at the lower column first
  std::iota(rank.begin(), rank.end(), std::size_t{0});
  std::stable_sort(rank.begin(), rank.end(), [&](std::size_t a, std::size_t b) { return x[a] < x[b]; });
  Reference out{std::vector<bool>(n, true), false, true};
  if (rule.min_p > 0)
    for (std::size_t v = 0; v < n; ++v)
      out.keeps[v] = static_cast<double>(x[v]) >= static_cast<double>(x[rank[n - 1]]) + std::log(rule.min_p) - 0x1p-20;
  if (rule.top_k > 0 && static_cast<std::size_t>(rule.top_k) < n) {
    const float kth = x[rank[n - static_cast<std::size_t>(rule.top_k)]];
    for (std::size_t v = 0; v < n; ++v) out.keeps[v] = out.keeps[v] && x[v] >= kth;
  }
  if (rule.top_p >= 1) return out;
  long double total = 0;
  const auto mass = [&](std::size_t v) {
    return out.keeps[v] ? expl(static_cast<long double>(x[v]) - static_cast<long double>(x[rank[n - 1]]))
                        : 0.0L;
  };
  for (std::size_t v = 0; v < n; ++v) total += mass(v);
  std::vector<bool> kept = out.keeps;
  long double below = 0;  // mass up to and with the column
  for (std::size_t i = 0; i + 1 < n; ++i) {
    below += mass(rank[i]) / total;
    if (!out.keeps[rank[i]]) continue;
    const long double apart = below - (1.0L - static_cast<long double>(rule.top_p));
    if (x[rank[i]] != -infinity && fabsl(apart) <= 0x1p-20L) out.at_boundary = true;
    if (fabsl(fabsl(apart) - 0x1p-20L) < 1e-12L) out.decided = false;
    if (apart <= 0x1p-20L) kept[rank[i]] = false;
  }
  out.keeps = kept;
  return out;
}

void check(const std::vector<float>& x, const Truncation& rule) {
  INFO("V " << x.size() << " top_k " << rule.top_k << " top_p " << rule.top_p << " min_p " << rule.min_p);
  const KeptThreshold got = kept_threshold(x, rule);
  const Reference wanted = by_sorting(x, rule);
  if (!wanted.decided) return;
  bool same = true;
  std::int32_t kept = 0;
  for (std::size_t v = 0; v < x.size(); ++v) {
    const bool keeps = got.keeps(x[v], static_cast<std::int64_t>(v));
    same = same && (keeps == wanted.keeps[v] || x[v] == -infinity);
    kept += keeps;
  }
  CHECK(same);
  CHECK(got.kept == kept);
  CHECK((got.at_boundary == 1) == wanted.at_boundary);
}

std::vector<float> logs(const std::vector<double>& p) {
  std::vector<float> out;
  for (const double value : p) out.push_back(static_cast<float>(std::log(value)));
  return out;
}

std::vector<float> values_of(Dtype dtype, const std::byte* data, std::int64_t count) {
  std::vector<float> out(static_cast<std::size_t>(count));
  cpu::widen_values(dtype, data, count, out.data());
  return out;
}

}  // namespace

TEST_CASE("kept_threshold: truncated sampling, case H06") {
  const std::vector<float> by_k = logs({.5, .25, .125, .125});
  const KeptThreshold two = kept_threshold(by_k, {.top_k = 2});
  CHECK(two.kept == 2);
  CHECK(two.keeps(by_k[1], 1));
  CHECK_FALSE(two.keeps(by_k[2], 2));
  CHECK(kept_threshold(by_k, {.top_k = 3}).kept == 4);  // all ties at the third largest stay

  const std::vector<float> by_p = logs({.5, .3, .15, .05});
  const KeptThreshold reached = kept_threshold(by_p, {.top_p = 0.8});
  CHECK(reached.kept == 2);  // a cumulative .8 has reached .8
  CHECK(reached.at_boundary == 1);
  CHECK(reached.value == by_p[1]);
  const KeptThreshold more = kept_threshold(by_p, {.top_p = 0.81});
  CHECK(more.kept == 3);
  CHECK(more.at_boundary == 0);
  CHECK(kept_threshold(by_p, {.top_p = 0.79}).kept == 2);
}

TEST_CASE("kept_threshold: of equal values at the mass boundary the higher columns stay") {
  const std::vector<float> x{0.0f, 1.0f, 0.0f, 0.0f, 0.0f};
  const double p = 1 / (std::exp(1.0) + 4);  // of each zero
  const KeptThreshold got = kept_threshold(x, {.top_p = std::exp(1.0) * p + 1.5 * p});
  CHECK(got.kept == 3);
  CHECK(got.value == 0.0f);
  CHECK(got.first_tied == 3);
  CHECK(got.at_boundary == 0);
  CHECK(got.keeps(1.0f, 1));
  CHECK(got.keeps(-0.0f, 4));
  CHECK_FALSE(got.keeps(0.0f, 2));
}

TEST_CASE("kept_threshold: -0 and 0 are one value") {
  const std::vector<float> x{0.0f, -0.0f, 0.0f, -0.0f};
  const KeptThreshold got = kept_threshold(x, {.top_p = 0.6});
  CHECK(got.kept == 3);
  CHECK(got.first_tied == 1);
  CHECK(kept_threshold(x, {.top_k = 1}).kept == 4);
}

TEST_CASE("kept_threshold: a token on the min-p boundary stays, and the row is marked") {
  const std::vector<float> x{std::log(.5f), std::log(.25f), std::log(.125f), std::log(.125f)};
  CHECK(kept_threshold(x, {.min_p = 0.25}).kept == 4);
  CHECK(kept_threshold(x, {.min_p = 0.25}).at_boundary == 1);
  CHECK(kept_threshold(x, {.min_p = 0.2501}).kept == 2);
  CHECK(kept_threshold(x, {.min_p = 0.2501}).at_boundary == 0);
  CHECK(kept_threshold(x, {.min_p = 0.2499}).at_boundary == 0);
}

TEST_CASE("kept_threshold: min-p first, then top-k, then top-p over what they left") {
  const std::vector<float> x = logs({.4, .3, .2, .05, .05});
  CHECK(kept_threshold(x, {.min_p = 0.45}).kept == 3);
  CHECK(kept_threshold(x, {.top_k = 2, .min_p = 0.45}).kept == 2);
  // .4 of .9 is .444 and .7 of .9 is .778: over the whole row .7 would have needed a third column.
  CHECK(kept_threshold(x, {.top_p = 0.75, .min_p = 0.45}).kept == 2);
  CHECK(kept_threshold(x, {.top_p = 0.75}).kept == 3);
  CHECK(kept_threshold(x, {.top_k = 3, .top_p = 0.75}).kept == 2);
  CHECK(kept_threshold(x, {.min_p = 1.0}).kept == 1);
  CHECK(kept_threshold(x, {.min_p = 7.0}).kept == 1);  // the maximum always stays
  CHECK(kept_threshold(x, {.min_p = 1e-320}).kept == 5);
}

TEST_CASE("kept_threshold: one column, all neutral, and masses next to nothing") {
  for (const Truncation& rule :
       {Truncation{.top_k = 1}, {.top_k = 9}, {.top_p = 1e-9}, {.top_p = 0}, {.min_p = .5}}) {
    CHECK(kept_threshold(std::vector<float>{3.0f}, rule).kept == 1);
    CHECK(kept_threshold({}, rule).kept == 0);
  }
  const std::vector<float> x{1.0f, 4.0f, 2.0f};
  CHECK(kept_threshold(x, {}).kept == 3);
  CHECK(kept_threshold(x, {.top_k = 3}).kept == 3);
  CHECK(kept_threshold(x, {.top_k = 4}).kept == 3);
  CHECK(kept_threshold(x, {.top_k = -1, .top_p = 2, .min_p = -1}).kept == 3);
  for (const double tiny : {0.0, 1e-9, 1e-3}) {
    const KeptThreshold got = kept_threshold(x, {.top_p = tiny});
    CHECK(got.kept == 1);
    CHECK(got.keeps(4.0f, 1));
    CHECK_FALSE(got.keeps(2.0f, 2));
  }
}

TEST_CASE("kept_threshold: rows that are left out keep everything; masked columns have no mass") {
  const Truncation hard{.top_k = 1, .top_p = 0.1, .min_p = 0.9};
  for (const std::vector<float>& x : {std::vector<float>{1.0f, nan_value, 3.0f},
                                      {1.0f, infinity, 3.0f},
                                      {-infinity, -infinity, -infinity}}) {
    const KeptThreshold got = kept_threshold(x, hard);
    CHECK(got.kept == 3);
    for (std::size_t v = 0; v < 3; ++v) CHECK(got.keeps(x[v], static_cast<std::int64_t>(v)));
  }
  const std::vector<float> masked{-infinity, 0.0f, -infinity, 0.0f, -infinity};
  const KeptThreshold half = kept_threshold(masked, {.top_p = 0.4});
  CHECK(half.kept == 1);
  CHECK(half.first_tied == 3);
  CHECK(kept_threshold(masked, {.top_k = 2}).kept == 2);
  CHECK(kept_threshold(masked, {.min_p = 0.5}).kept == 2);
}

TEST_CASE("kept_threshold: a full sort's answer on random rows with many ties") {
  std::mt19937_64 random(9);
  std::normal_distribution<float> normal;
  for (int i = 0; i < 600; ++i) {
    std::vector<float> x(1 + random() % (i % 10 == 0 ? 700 : 40));
    const float spread = i % 3 == 0 ? 0.5f : 4.0f, lattice = i % 2 == 0 ? 0.25f : 2.0f;
    for (float& value : x) value = std::round(normal(random) * spread / lattice) * lattice;
    if (i % 4 == 1)
      for (float& value : x)
        if (random() % 3 == 0) value = -infinity;
    x[random() % x.size()] = 1.0f;  // a number
    if (i % 5 == 2)
      for (float& value : x) value = normal(random) * 300;  // terms that underflow
    const double p = static_cast<double>(random() % 1001) / 1000;
    for (const Truncation& rule :
         {Truncation{.top_p = p},
          {.top_k = static_cast<std::int64_t>(random() % (x.size() + 3))},
          {.min_p = p},
          {.top_k = static_cast<std::int64_t>(random() % (x.size() + 3)), .top_p = 0.9, .min_p = p / 10},
          {.top_p = 1 - 1e-7},
          {.top_p = 0.25},
          {.top_p = 0.5}})
      check(x, rule);
  }
}

TEST_CASE("kept_threshold: a wide row's answer, and masses that meet top_p exactly") {
  std::mt19937_64 random(10);
  std::normal_distribution<float> normal;
  std::vector<float> x(60000);
  for (float& value : x) value = rounded_to(Dtype::BF16, normal(random) * 4);
  for (const double p : {0.1, 0.9, 0.99, 0.9999}) check(x, {.top_p = p});
  check(x, {.top_k = 50, .top_p = 0.95, .min_p = 0.01});
  const std::vector<float> equal(1024, -3.0f);
  for (const std::int64_t kept : {1, 256, 1000, 1023}) {
    const KeptThreshold got = kept_threshold(equal, {.top_p = static_cast<double>(kept) / 1024});
    CHECK(got.kept == kept);
    CHECK(got.at_boundary == 1);
  }
}

TEST_CASE("drop_below: rewrites what is not kept to -inf, in every dtype, and leaves padding alone") {
  const std::vector<std::vector<float>> rows{{0.5f, 2.0f, 1.0f, -1.0f, 1.0f, 2.0f, 1.0f, -infinity}};
  for (const Dtype dtype : dtypes)
    for (const std::int64_t first : {0, 3}) {
      INFO(name(dtype) << " from " << first);
      const test::StoredRows stored(dtype, rows, 10);
      const LogitsView view = stored.view();
      const std::int64_t size = view.bytes_per_element(), count = 10 - first;
      std::vector<std::byte> row(static_cast<std::size_t>(count * size + 1));  // at an odd address
      std::memcpy(row.data() + 1, view.data + first * size, static_cast<std::size_t>(count * size));
      ValueRule rule = view.rule;
      rule.temperature = 2.0f;
      KeptThreshold threshold;
      threshold.value = 0.5f;  // a stored 1
      threshold.first_tied = 4;
      drop_below(threshold, rule, first, 8, std::span(row).subspan(1));
      const std::vector<float> left = values_of(dtype, row.data() + 1, count);
      const std::vector<float> wanted{-infinity, 2.0f, -infinity, -infinity, 1.0f, 2.0f, 1.0f, -infinity};
      for (std::int64_t c = first; c < 8; ++c)
        CHECK(left[static_cast<std::size_t>(c - first)] == wanted[static_cast<std::size_t>(c)]);
      CHECK(std::isnan(left[static_cast<std::size_t>(8 - first)]));
      CHECK(std::isnan(left[static_cast<std::size_t>(9 - first)]));
    }
}

TEST_CASE(
    "drop_below: a NaN stays visible, a row that keeps everything is not touched, shards of padding are") {
  std::vector<float> row{1.0f, nan_value, 5.0f};
  const ValueRule rule{};
  KeptThreshold threshold;
  threshold.value = 4.0f;
  drop_below(threshold, rule, 0, 3, std::as_writable_bytes(std::span(row)));
  CHECK(row[0] == -infinity);
  CHECK(std::isnan(row[1]));
  CHECK(row[2] == 5.0f);
  std::vector<float> mask{-1e30f, 1.0f};
  drop_below({}, rule, 0, 2, std::as_writable_bytes(std::span(mask)));
  CHECK(mask[0] == -1e30f);
  drop_below(threshold, rule, 2, 2, std::as_writable_bytes(std::span(mask)));
  drop_below(threshold, rule, 9, 2, std::as_writable_bytes(std::span(mask)));
  CHECK(mask[1] == 1.0f);
}

TEST_CASE("drop_below: what is left of a row is what kept_threshold counted") {
  std::mt19937_64 random(12);
  std::normal_distribution<float> normal;
  for (const Dtype dtype : dtypes) {
    std::vector<std::vector<float>> rows(1, std::vector<float>(5000));
    for (float& x : rows[0]) x = rounded_to(Dtype::BF16, 3 * normal(random));
    const test::StoredRows stored(dtype, rows, 5000);
    ValueRule rule = stored.view().rule;
    rule.temperature = 0.7f;
    std::vector<float> values(5000);
    cpu::read_values(rule, stored.view().data, 5000, values.data());
    const KeptThreshold threshold = kept_threshold(values, {.top_k = 400, .top_p = 0.93});
    std::int32_t left = 0;
    for (std::int64_t first = 0; first < 5000; first += 1250) {
      const std::int64_t bytes = 1250 * stored.view().bytes_per_element();
      std::vector<std::byte> shard(static_cast<std::size_t>(bytes));
      std::memcpy(shard.data(), stored.view().data + first * stored.view().bytes_per_element(), shard.size());
      drop_below(threshold, rule, first, 5000, shard);
      for (const float x : values_of(dtype, shard.data(), 1250)) left += x != -infinity;
    }
    CHECK(left == threshold.kept);
    CHECK(left < 400);
  }
}

TEST_CASE("drop_others: only the columns listed stay") {
  const std::vector<std::vector<float>> rows{{1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}};
  const std::vector<std::int64_t> kept{0, 2, 5, 40};
  for (const Dtype dtype : dtypes) {
    const test::StoredRows stored(dtype, rows, 8);
    const std::int64_t size = stored.view().bytes_per_element();
    std::vector<std::byte> row(static_cast<std::size_t>(7 * size));
    std::memcpy(row.data(), stored.view().data + size, row.size());  // columns 1 to 7
    drop_others(kept, dtype, 1, row, 6);
    const std::vector<float> left = values_of(dtype, row.data(), 7);
    CHECK(std::vector<float>(left.begin(), left.begin() + 5) ==
          std::vector<float>{-infinity, 3.0f, -infinity, -infinity, 6.0f});
    CHECK(std::isnan(left[5]));
    drop_others({}, dtype, 1, row);
    for (const float x : values_of(dtype, row.data(), 7)) CHECK(x == -infinity);
  }
}
