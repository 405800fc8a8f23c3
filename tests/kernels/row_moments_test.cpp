// row_moments against sums in extended precision, against its stated order bit by bit, and every instruction
// set against every other.

#include "kernels/row_moments.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/golden_rows.hpp"
#include "kernels/instruction_set.hpp"
#include "kernels/moment_math.hpp"
#include "kernels/stored_rows.hpp"
#include "support/catch.hpp"

using namespace drift;
using test::StoredRows;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();
constexpr Dtype dtypes[] = {Dtype::BF16, Dtype::F16, Dtype::F32, Dtype::F64};
using Rows = std::vector<std::vector<float>>;

std::vector<RowMoments> moments_of(const LogitsView& view) {
  std::vector<RowMoments> out(static_cast<std::size_t>(view.rows));
  cpu::row_moments(view, out.data());
  return out;
}

bool same_bytes(const RowMoments& a, const RowMoments& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

Rows random_rows(std::size_t vocab, std::uint64_t seed) {
  golden::Random random(seed);
  Rows rows;
  for (const float spread : {1.0f, 4.0f, 40.0f}) {
    std::vector<float> row(vocab);
    for (float& x : row) x = spread * random.bell();
    rows.push_back(row);
    for (std::size_t v = 0; v < vocab; ++v)
      if (v % 3 == 1 && v + 1 < vocab) row[v] = v % 2 == 0 ? -infinity : -3e38f;
    rows.push_back(row);
  }
  return rows;
}

/// The fold in halves, as a recursion.
/// a[i] + a[i + h] with h halving meets indices that differ in their highest bit last: the recursion splits
/// by low bits first.
double folded(const std::vector<double>& a, std::size_t at = 0, std::size_t step = 1) {
  if (step == a.size()) return a[at];
  return folded(a, at, step * 2) + folded(a, at + step, step * 2);
}

}  // namespace

TEST_CASE("moment_math: exp within 2^-52 of exp, exact at 0, and nowhere above 1") {
  golden::Random random(3);
  CHECK(moments::exp_of_negative(0.0) == 1.0);
  CHECK(moments::exp_of_negative(-0.0) == 1.0);
  double worst = 0;
  for (int i = 0; i < 400000; ++i) {
    const double scale = i % 4 == 0 ? 320.0 : i % 4 == 1 ? 30.0 : i % 4 == 2 ? 1.0 : 0x1p-20;
    const double d = -scale * static_cast<double>(random() >> 11) * 0x1p-53;
    const double value = moments::exp_of_negative(d);
    const long double exact = expl(static_cast<long double>(d));
    if (value > 1.0) worst = 1;
    worst = std::max(worst, static_cast<double>(fabsl(static_cast<long double>(value) - exact) / exact));
  }
  CHECK(worst <= 0x1p-52);
  CHECK(worst > 0x1p-55);  // the comparison sees differences at all
  CHECK(moments::term_of(-infinity, 3.0).e == 0.0);
  CHECK(moments::term_of(-320.0f, 0.0).e > 0.0);
  CHECK(moments::term_of(-320.1f, 0.0).e == 0.0);
  CHECK(std::isnan(moments::term_of(nan_value, 3.0).d));
}

TEST_CASE("moment_math: log within 2^-48 over the range of sums, exact at 1") {
  golden::Random random(4);
  CHECK(moments::log_of_positive(1.0) == 0.0);
  double worst = 0;
  for (int i = 0; i < 200000; ++i) {
    const double s =
        std::ldexp(1.0 + static_cast<double>(random() >> 12) * 0x1p-52, static_cast<int>(random() % 66) - 33);
    const long double exact = logl(static_cast<long double>(s));
    worst = std::max(
        worst, static_cast<double>(fabsl(static_cast<long double>(moments::log_of_positive(s)) - exact)));
  }
  CHECK(worst <= 0x1p-48);
  const double near_one = 1.0 + 0x1p-40;
  CHECK(std::fabs(moments::log_of_positive(near_one) - std::log1p(0x1p-40)) <= 0x1p-40 * 0x1p-50);
}

TEST_CASE("ulp_of: the distance to the next larger magnitude of the dtype") {
  CHECK(ulp_of(Dtype::BF16, 1.0f) == 0x1p-7f);
  CHECK(ulp_of(Dtype::BF16, -1.9921875f) == 0x1p-7f);
  CHECK(ulp_of(Dtype::BF16, 20.0f) == 0x1p-3f);
  CHECK(ulp_of(Dtype::BF16, 0.0f) == 0x1p-133f);
  CHECK(ulp_of(Dtype::F16, 1.0f) == 0x1p-10f);
  CHECK(ulp_of(Dtype::F16, 0.0f) == 0x1p-24f);
  CHECK(ulp_of(Dtype::F16, 0x1p-20f) == 0x1p-24f);
  CHECK(ulp_of(Dtype::F32, 1.0f) == 0x1p-23f);
  CHECK(ulp_of(Dtype::F32, 0.0f) == 0x1p-149f);
  CHECK(ulp_of(Dtype::F64, 1.0f) == 0x1p-52f);
  CHECK(ulp_of(Dtype::F64, 0.0f) == 0x1p-149f);
  for (const Dtype dtype : dtypes) {
    CHECK(ulp_of(dtype, infinity) == 0.0f);
    CHECK(ulp_of(dtype, -infinity) == 0.0f);
    CHECK(ulp_of(dtype, nan_value) == 0.0f);
  }
  for (std::uint32_t bits = 0; bits < 0x7f7fu; bits += 13)
    CHECK(ulp_of(Dtype::BF16, widen_bf16(static_cast<std::uint16_t>(bits))) ==
          widen_bf16(static_cast<std::uint16_t>(bits + 1)) - widen_bf16(static_cast<std::uint16_t>(bits)));
  for (std::uint32_t bits = 0; bits < 0x7bffu; bits += 13)
    CHECK(ulp_of(Dtype::F16, widen_f16(static_cast<std::uint16_t>(bits))) ==
          widen_f16(static_cast<std::uint16_t>(bits + 1)) - widen_f16(static_cast<std::uint16_t>(bits)));
  for (const float x : {3.0f, 1e-40f, 7e5f, 0x1p-126f, 0x1.fffffep10f})
    CHECK(ulp_of(Dtype::F32, -x) == std::nextafterf(x, infinity) - x);
}

TEST_CASE("row_moments: the exact sums, for every dtype and temperature") {
  for (const Dtype dtype : dtypes)
    for (const float temperature : {1.0f, 0.7f}) {
      const Rows rows = random_rows(5003, 17);
      const StoredRows stored(dtype, rows, 5100);
      LogitsView view = stored.view();
      view.rule.temperature = temperature;
      const std::vector<RowMoments> got = moments_of(view);
      for (std::size_t r = 0; r < rows.size(); ++r) {
        INFO(name(dtype) << " T " << temperature << " row " << r);
        std::vector<float> x, ulp;
        for (const float value : rows[r]) {
          const float widened = rounded_to(dtype, value);
          x.push_back(value_of(widened, view.rule));
          ulp.push_back(ulp_of(dtype, widened));
        }
        const auto largest = std::max_element(x.begin(), x.end());
        long double sum = 0, first = 0, square = 0, noise = 0;
        for (std::size_t v = 0; v < x.size(); ++v) {
          if (x[v] == -infinity) continue;
          const long double d = static_cast<long double>(x[v]) - static_cast<long double>(*largest);
          const long double e = expl(d),
                            u = static_cast<long double>(ulp[v]) / static_cast<long double>(temperature);
          sum += e;
          first += e * d;
          square += e * e;
          noise += e * e * u * u;
        }
        const auto close = [](double value, long double exact) {
          return fabsl(static_cast<long double>(value) - exact) <= 1e-14L * fabsl(exact);
        };
        CHECK(got[r].max == *largest);
        CHECK(got[r].argmax == largest - x.begin());
        CHECK(close(got[r].sum, sum));
        CHECK(close(got[r].first, first));
        CHECK(close(got[r].square, square));
        CHECK(close(got[r].noise, noise));
        CHECK(got[r].reserved == 0.0f);
      }
    }
}

TEST_CASE("row_moments: bits of the stated order, column argmax apart") {
  for (const std::size_t vocab : {1, 2, 511, 512, 513, 1024, 4999}) {
    const Rows rows = random_rows(vocab, 5 + vocab);
    const StoredRows stored(Dtype::BF16, rows, static_cast<std::int64_t>(vocab) + 3);
    const std::int64_t begin = static_cast<std::int64_t>(vocab / 3);
    const LogitsView view = stored.view({begin, stored.padded()});
    const std::vector<RowMoments> got = moments_of(view);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      INFO("vocab " << vocab << " row " << r);
      std::vector<double> sum(512), first(512), square(512), noise(512);
      const double max = static_cast<double>(got[r].max);
      for (std::size_t v = static_cast<std::size_t>(begin); v < vocab; ++v) {
        const float x = judged(rounded_to(Dtype::BF16, rows[r][v]));
        if (static_cast<std::int64_t>(v) == got[r].argmax || x == -infinity) continue;
        const auto at = (v - static_cast<std::size_t>(begin)) % 512;
        const moments::Term term = moments::term_of(x, max);
        const double root = term.e * static_cast<double>(ulp_of(Dtype::BF16, x)) * 0x1p7;
        sum[at] += term.e;
        first[at] = std::fma(term.e, term.d, first[at]);
        square[at] = std::fma(term.e, term.e, square[at]);
        noise[at] = std::fma(root, root, noise[at]);
      }
      const double u = static_cast<double>(ulp_of(Dtype::BF16, rounded_to(Dtype::BF16, got[r].max)));
      CHECK(got[r].tail == folded(sum));
      CHECK(got[r].sum == 1.0 + folded(sum));
      CHECK(got[r].first == folded(first));
      CHECK(got[r].square == 1.0 + folded(square));
      CHECK(got[r].tail_noise == folded(noise) * 0x1p-14);
      CHECK(got[r].noise == folded(noise) * 0x1p-14 + u * u);
    }
  }
}

TEST_CASE("row_moments: the same bits on every instruction set, at every width, shard and alignment") {
  for (const Dtype dtype : dtypes)
    for (const std::int64_t vocab : {1, 31, 512, 2050})
      for (const int misaligned : {0, 1}) {
        Rows rows = random_rows(static_cast<std::size_t>(vocab), 23);
        rows.push_back(rows[0]);
        rows.back()[static_cast<std::size_t>(vocab / 2)] = nan_value;
        rows.push_back(rows[1]);
        rows.back()[static_cast<std::size_t>(vocab - 1)] = infinity;
        const StoredRows stored(dtype, rows, vocab + 7, misaligned);
        for (const Range columns :
             {Range{0, vocab + 7}, Range{vocab / 3, vocab / 2 + 1}, Range{vocab, vocab + 7}})
          for (const float temperature : {1.0f, 0.7f}) {
            LogitsView view = stored.view(columns);
            view.rule.temperature = temperature;
            const std::vector<RowMoments> wanted = moments_of(view);
            for (const cpu::InstructionSet& set : cpu::instruction_sets()) {
              if (!set.runs_here()) continue;
              INFO(set.name << " " << name(dtype) << " vocab " << vocab << " from " << columns.begin);
              std::vector<RowMoments> got(wanted.size());
              set.row_moments(view, got.data());
              for (std::size_t r = 0; r < got.size(); ++r) CHECK(same_bytes(got[r], wanted[r]));
            }
          }
      }
}

TEST_CASE("row_moments: rows without a value, and rows with values that are none") {
  const StoredRows stored(Dtype::F32,
                          Rows{{-infinity, -1e30f, -infinity},
                               {1.0f, nan_value, -infinity},
                               {1.0f, infinity, 3e9f},
                               {-infinity, nan_value, -infinity},
                               {-0.0f, -infinity, 0.0f}},
                          5);
  const std::vector<RowMoments> got = moments_of(stored.view());
  for (const std::size_t r : {std::size_t{0}, std::size_t{3}}) {
    RowMoments none;
    none.max = -infinity;
    CHECK(same_bytes(got[r], none));
  }
  for (const std::size_t r : {std::size_t{1}, std::size_t{2}}) {
    CHECK(std::bit_cast<std::uint64_t>(got[r].sum) == 0x7ff8000000000000u);
    CHECK(std::bit_cast<std::uint64_t>(got[r].first) == 0x7ff8000000000000u);
    CHECK(std::bit_cast<std::uint64_t>(got[r].tail_noise) == 0x7ff8000000000000u);
    CHECK(std::isnan(spread_of(got[r], 1.0f, 0.1f).entropy));
  }
  CHECK(got[2].max == infinity);
  CHECK(got[2].argmax == 1);  // the first of two
  CHECK(std::bit_cast<std::uint32_t>(got[4].max) == 0u);
  CHECK(got[4].argmax == 0);  // -0 and 0 are one value
  CHECK(got[4].sum == 2.0);
  CHECK(std::isnan(spread_of(got[0], 1.0f, 0.1f).lse));
  const RowMoments padding = moments_of(stored.view({3, 5}))[1];
  CHECK(padding.argmax == -1);
  CHECK(padding.sum == 0.0);
  CHECK(moments_of(stored.view({2, 5}))[4].argmax == 2);  // columns count from the row's start
}

TEST_CASE("row_moments: masks add nothing at all") {
  const Rows with{{2.0f, -infinity, -1e30f, 1.0f}};
  const RowMoments got = moments_of(StoredRows(Dtype::BF16, with, 4).view())[0];
  CHECK(got.tail == moments::exp_of_negative(-1.0));
  CHECK(got.first == -moments::exp_of_negative(-1.0));
  const RowMoments alone = moments_of(StoredRows(Dtype::BF16, Rows{{2.0f, -infinity, -500.0f}}, 3).view())[0];
  CHECK(alone.tail == 0.0);
  CHECK(alone.tail_noise == 0.0);
  CHECK(alone.first == 0.0);
  CHECK(alone.sum == 1.0);
}

TEST_CASE("spread_of: known distributions") {
  const RowMoments uniform =
      moments_of(StoredRows(Dtype::BF16, Rows{std::vector<float>(1024, 3.0f)}, 1024).view())[0];
  const RowSpread flat = spread_of(uniform, 3.0f, ulp_of(Dtype::BF16, 3.0f));
  CHECK(flat.lse == Approx(3.0 + std::log(1024.0)).epsilon(1e-15));
  CHECK(flat.entropy == Approx(std::log(1024.0)).epsilon(1e-14));
  CHECK(flat.sum_p2 == 1.0 / 1024);
  const double p = 1.0 / 1024, u = 0x1p-6;
  CHECK(flat.sigma == Approx(u * std::sqrt(((1 - p) * (1 - p) + 1023 * p * p) / 12)).epsilon(1e-13));

  const StoredRows one(Dtype::F32, Rows{{-7.25f}}, 1);
  const RowSpread certain = spread_of(moments_of(one.view())[0], -7.25f, ulp_of(Dtype::F32, -7.25f));
  CHECK(certain.lse == -7.25);
  CHECK(certain.entropy == 0.0);
  CHECK(certain.sum_p2 == 1.0);
  CHECK(certain.sigma == 0.0);  // whatever the logit is, its probability is 1

  const StoredRows two(Dtype::F32, Rows{{0.0f, std::log(3.0f)}}, 2);  // p = 1/4, 3/4
  const RowSpread uneven = spread_of(moments_of(two.view())[0], 0.0f, ulp_of(Dtype::F32, 0.0f));
  CHECK(uneven.entropy == Approx(-0.25 * std::log(0.25) - 0.75 * std::log(0.75)).epsilon(1e-7));
  CHECK(uneven.sum_p2 == Approx(0.625).epsilon(1e-7));
  CHECK(uneven.sigma ==
        Approx(0.75 * 0x1p-23 / std::sqrt(12.0)).epsilon(1e-6));  // zero's own ulp is next to nothing
  CHECK(std::isnan(spread_of(moments_of(two.view())[0], nan_value, 0.0f).sigma));
  CHECK(std::isnan(spread_of(moments_of(two.view())[0], -infinity, 0.0f).sigma));
  CHECK(spread_of(moments_of(two.view())[0], nan_value, 0.0f).lse == uneven.lse);
}

TEST_CASE("spread_of: a confident target keeps all digits of what is left") {
  // One column at 40, 999 at 0: 1 - p = 999 e^-40 = 4.2e-15, next to an fp64 ulp of the sum.
  std::vector<float> row(1000, 0.0f);
  row[600] = 40.0f;
  const RowMoments got = moments_of(StoredRows(Dtype::BF16, Rows{row}, 1000).view())[0];
  const double rest = 999 * std::exp(-40.0);
  CHECK(got.tail == Approx(rest).epsilon(1e-14));
  const RowSpread spread = spread_of(got, 40.0f, ulp_of(Dtype::BF16, 40.0f));
  CHECK(spread.sigma == Approx(rest * 0.25 / std::sqrt(12.0)).epsilon(1e-12));
  // A target that is not the maximum: 1 - p is 1, and the maximum's own noise is as large as it gets.
  const RowSpread other = spread_of(got, 0.0f, ulp_of(Dtype::BF16, 0.0f));
  CHECK(other.sigma == Approx(0.25 / std::sqrt(12.0)).epsilon(1e-12));
}
