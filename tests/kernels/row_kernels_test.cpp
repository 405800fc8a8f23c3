// The plain kernels on data small enough to check by hand.

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/golden_rows.hpp"
#include "kernels/pack_values.hpp"
#include "kernels/row_census.hpp"
#include "kernels/row_log_prob.hpp"
#include "kernels/row_max.hpp"
#include "kernels/row_sum_exp.hpp"
#include "kernels/row_target.hpp"
#include "kernels/stored_rows.hpp"
#include "support/catch.hpp"

using namespace drift;
using test::StoredRows;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();
constexpr float lowest = std::numeric_limits<float>::lowest();
using Rows = std::vector<std::vector<float>>;

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

std::vector<RowCensus> census(const LogitsView& view, const std::vector<std::int64_t>& targets) {
  std::vector<RowCensus> out(static_cast<std::size_t>(view.rows));
  cpu::row_census(view, targets.data(), out.data());
  return out;
}

}  // namespace

TEST_CASE("row_max: the largest real column of the shard, in every dtype") {
  const Rows rows{{1.0f, -2.0f, 8.0f, 3.5f}, {-infinity, -4.0f, -infinity, -8.0f}};
  for (const Dtype dtype : {Dtype::BF16, Dtype::F16, Dtype::F32, Dtype::F64}) {
    const StoredRows stored(dtype, rows, 6);
    float max[2];
    cpu::row_max(stored.view(), max);
    CHECK(max[0] == 8.0f);
    CHECK(max[1] == -4.0f);
    cpu::row_max(stored.view({3, 6}), max);
    CHECK(max[0] == 3.5f);
    CHECK(max[1] == -8.0f);
  }
}

TEST_CASE("row_max: a shard of padding gives -inf, and so does a row of masks") {
  const StoredRows stored(Dtype::F32, Rows{{1.0f, lowest}, {-infinity, -1e30f}}, 4);
  float max[2];
  cpu::row_max(stored.view({2, 4}), max);
  CHECK(max[0] == -infinity);
  cpu::row_max(stored.view({2, 2}), max);
  CHECK(max[0] == -infinity);
  cpu::row_max(stored.view(), max);
  CHECK(max[0] == 1.0f);
  CHECK(max[1] == -infinity);
}

TEST_CASE("row_max: NaN is passed over, zero is +0") {
  const StoredRows stored(Dtype::F32, Rows{{nan_value, -0.0f, -1.0f}, {nan_value, -5.0f, nan_value}}, 3);
  float max[2];
  cpu::row_max(stored.view(), max);
  CHECK(bits(max[0]) == 0);
  CHECK(max[1] == -5.0f);
}

TEST_CASE("row_max: wide rows, wherever the largest is") {
  for (const std::size_t at : {0, 31, 32, 1023, 1024, 2499}) {
    Rows rows(1, std::vector<float>(2500, -3.0f));
    rows[0][at] = 7.0f;
    float max = 0;
    cpu::row_max(StoredRows(Dtype::BF16, rows, 2500).view(), &max);
    CHECK(max == 7.0f);
  }
}

TEST_CASE("row_sum_exp: sums of the shard, zero where it has no real column") {
  const StoredRows stored(Dtype::F32, Rows{{2.0f, 2.0f, -infinity, 2.0f}}, 6);
  const float shift = 2.0f;
  float sum = -1;
  cpu::row_sum_exp(stored.view(), &shift, &sum);
  CHECK(sum == 3.0f);
  cpu::row_sum_exp(stored.view({2, 3}), &shift, &sum);
  CHECK(sum == 0.0f);
  cpu::row_sum_exp(stored.view({4, 6}), &shift, &sum);
  CHECK(sum == 0.0f);
  const float nothing = -infinity;
  cpu::row_sum_exp(stored.view({2, 3}), &nothing, &sum);
  CHECK(std::isnan(sum));
}

TEST_CASE("row_sum_exp: 512 accumulators folded in halves") {
  // Terms are 1 or 2^-24: which of them meet before they meet a 1 decides the sum's bits.
  std::vector<float> x(1024, -infinity);
  x[0] = 0.0f;                     // accumulator 0: 1
  const float tiny = -16.635532f;  // exp of it is 2^-24 or nearly
  x[1] = x[257] = x[513] = tiny;   // 1 and 257 meet first, then with 0 last of all
  float sum = 0;
  const float shift = 0.0f;
  cpu::row_sum_exp(StoredRows(Dtype::F32, Rows{x}, 1024).view(), &shift, &sum);
  float term = 0;
  cpu::row_sum_exp(StoredRows(Dtype::F32, Rows{{tiny}}, 1).view(), &shift, &term);
  CHECK(sum == 1.0f + ((term + term) + term));
  CHECK(sum != ((1.0f + term) + term) + term);  // what one running sum would give
}

TEST_CASE("row_sum_exp: within its bound of the exact sum") {
  golden::Random random(31);
  Rows rows(1, std::vector<float>(30000));
  for (float& x : rows[0]) x = golden::to_bf16(4 * random.bell());
  const StoredRows stored(Dtype::BF16, rows, 30000);
  float max = 0, sum = 0;
  cpu::row_max(stored.view(), &max);
  cpu::row_sum_exp(stored.view(), &max, &sum);
  double exact = 0;
  for (const float x : rows[0]) exact += std::exp(static_cast<double>(x) - static_cast<double>(max));
  CHECK(std::fabs(static_cast<double>(sum) - exact) <= exact * (2 + 30 + 59 + 9) * 0x1p-24);
}

TEST_CASE("row_target: the owner gives the value, others and inactive rows give 0") {
  const StoredRows stored(Dtype::BF16, Rows{{1.0f, 2.0f, 3.0f}, {4.0f, 5.0f, -1e30f}, {7.0f, 8.0f, 9.0f}}, 5);
  float out[3];
  const std::int64_t targets[]{2, 2, -1};
  cpu::row_target(stored.view({1, 5}), targets, out);
  CHECK(out[0] == 3.0f);
  CHECK(out[1] == -infinity);  // a mask
  CHECK(out[2] == 0.0f);
  cpu::row_target(stored.view({0, 2}), targets, out);
  CHECK(bits(out[0]) == 0);
  cpu::row_target(stored.view({3, 5}), targets, out);
  CHECK(out[1] == 0.0f);
}

TEST_CASE("row_log_prob: each operation rounded once, inactive rows NaN") {
  const float max[]{8.0f, 8.0f}, sum[]{1.0f, 2.0f}, target[]{7.5f, 0.0f};
  const std::int64_t targets[]{4, -1};
  float lse[2], logp[2];
  cpu::row_log_prob(max, sum, target, targets, 2, {lse, logp});
  CHECK(lse[0] == 8.0f);
  CHECK(logp[0] == -0.5f);
  CHECK(lse[1] == 8.0f + 0.6931472f);
  CHECK(bits(logp[1]) == 0x7fc00000u);
}

TEST_CASE("pack_values and assemble_rows: shards packed by each rank make whole rows again") {
  const Rows rows{{0.0f, 1.0f, 2.0f, 3.0f, 4.0f}, {10.0f, 11.0f, 12.0f, lowest, 14.0f}};
  const StoredRows stored(Dtype::F32, rows, 8);
  const std::vector<std::int64_t> bounds{0, 2, 2, 6, 8};
  constexpr std::int64_t pitch = 4;
  std::vector<float> gathered(4 * 2 * pitch, -1.0f), whole(10);
  for (std::size_t rank = 0; rank < 4; ++rank)
    cpu::pack_values(stored.view({bounds[rank], bounds[rank + 1]}), pitch,
                     gathered.data() + rank * 2 * pitch);
  CHECK(gathered[2] == -1.0f);  // the rest of a row is not written
  cpu::assemble_rows(gathered.data(), bounds, 2, pitch, 5, whole.data());
  CHECK(whole == std::vector<float>{0, 1, 2, 3, 4, 10, 11, 12, -infinity, 14});
}

TEST_CASE("row_census: numbers only, nothing to report") {
  for (const Dtype dtype : {Dtype::BF16, Dtype::F16, Dtype::F32, Dtype::F64}) {
    const RowCensus row = census(StoredRows(dtype, Rows{{1.0f, -2.0f, 0.0f}}, 9).view(), {1})[0];
    CHECK(row.nonfinite == 0);
    CHECK(row.masked == 0);
    CHECK(row.first_bad == -1);
    CHECK(row.rounded == 0);
    CHECK(row.kind == BadValue::none);
  }
}

TEST_CASE("row_census: -inf is legal, NaN and +inf are counted and the first is located") {
  for (const Dtype dtype : {Dtype::BF16, Dtype::F16, Dtype::F32, Dtype::F64}) {
    const StoredRows stored(
        dtype, Rows{{1.0f, -infinity, infinity, nan_value}, {1.0f, nan_value, infinity, 0.0f}}, 6);
    const std::vector<RowCensus> rows = census(stored.view(), {0, 1});
    CHECK(rows[0].nonfinite == 2);
    CHECK(rows[0].first_bad == 2);
    CHECK(rows[0].kind == BadValue::pos_inf);
    CHECK(rows[0].masked == 0);
    CHECK(rows[1].first_bad == 1);
    CHECK(rows[1].kind == BadValue::nan);
    const RowCensus shard = census(stored.view({3, 6}), {0, 1})[0];
    CHECK(shard.first_bad == 3);  // columns count from the row's start
    CHECK(shard.kind == BadValue::nan);
  }
}

TEST_CASE("row_census: masks are finite values that count as -inf") {
  const StoredRows stored(Dtype::F32, Rows{{lowest, -1e30f, -0x1p30f, -infinity, 0x1p30f, 2e9f}}, 6);
  const RowCensus row = census(stored.view(), {0})[0];
  CHECK(row.masked == 2);
  CHECK(row.nonfinite == 1);  // above 2^30 counts as +inf
  CHECK(row.first_bad == 5);
  LogitsView hot = stored.view();
  hot.rule.temperature = 2.0f;
  CHECK(census(hot, {0})[0].nonfinite == 0);  // judged after the division
  hot.rule.temperature = 0.5f;
  CHECK(census(hot, {0})[0].masked == 3);
}

TEST_CASE("row_census: a target at -inf, and rows that are -inf everywhere") {
  const StoredRows stored(Dtype::BF16, Rows{{1.0f, -infinity}, {-infinity, -1e30f}, {1.0f, -infinity}}, 4);
  const std::vector<RowCensus> rows = census(stored.view(), {1, 0, -1});
  CHECK(rows[0].kind == BadValue::target_neg_inf);
  CHECK(rows[0].first_bad == 1);
  CHECK(rows[1].kind == BadValue::all_neg_inf);
  CHECK(rows[1].first_bad == 0);
  CHECK(rows[1].masked == 1);
  CHECK(rows[2].kind == BadValue::none);
}

TEST_CASE("row_census: F64 values that fp32 does not hold are counted") {
  const double nan64 = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::vector<double>> rows{{0.1, 0.5, 1e300, -1e300, nan64, -1.0 / 0.0}};
  const RowCensus row = census(StoredRows(Dtype::F64, rows, 6).view(), {0})[0];
  CHECK(row.rounded == 3);
  CHECK(row.masked == 1);  // -1e300 is finite and counts as -inf
  CHECK(row.nonfinite == 2);
  CHECK(row.first_bad == 2);
}

TEST_CASE("row_census: one bad value anywhere in a wide row is found") {
  for (const Dtype dtype : {Dtype::BF16, Dtype::F16, Dtype::F32})
    for (const std::size_t at : {0, 2047, 2048, 4999}) {
      Rows rows(1, std::vector<float>(5000, 0.25f));
      rows[0][at] = nan_value;
      const RowCensus row = census(StoredRows(dtype, rows, 5000).view(), {0})[0];
      CHECK(row.nonfinite == 1);
      CHECK(row.first_bad == static_cast<std::int64_t>(at));
    }
}
