// The oracle's own conversions, exp and log, each against something that does not share its text.

#include "oracle/row_math.hpp"

#include <cmath>
#include <random>

#include "base/float16.hpp"
#include "support/catch.hpp"

namespace {

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

double relative(double value, long double truth) {
  return static_cast<double>(std::fabs((static_cast<long double>(value) - truth) / truth));
}

}  // namespace

TEST_CASE("row_math: all 65536 bf16 and f16 numbers widen to the bits of the candidates' header") {
  int different = 0;
  for (std::uint32_t u = 0; u < 65536; ++u) {
    const auto half = static_cast<std::uint16_t>(u);
    if (bits(oracle::from_bf16(half)) != bits(drift::widen_bf16(half))) ++different;
    if (bits(oracle::from_f16(half)) != bits(drift::widen_f16(half))) ++different;
  }
  CHECK(different == 0);
}

TEST_CASE(
    "row_math: rounding to bf16 and f16 agrees with the candidates' header, ties and subnormals included") {
  std::mt19937 random(11);
  int different = 0;
  const auto compare = [&](std::uint32_t u) {
    const float x = std::bit_cast<float>(u);
    const float bf16 = drift::widen_bf16(drift::round_bf16(x)), f16 = drift::widen_f16(drift::round_f16(x));
    if (std::isnan(x)) {
      if (!std::isnan(oracle::on_bf16_grid(x)) || !std::isnan(oracle::on_f16_grid(x))) ++different;
      return;
    }
    if (bits(oracle::on_bf16_grid(x)) != bits(bf16)) ++different;
    if (bits(oracle::on_f16_grid(x)) != bits(f16)) ++different;
  };
  for (std::uint32_t high = 0; high < 65536; ++high)  // every tie of bf16, every exponent, both neighbours
    for (const std::uint32_t low :
         {0u, 1u, 0x0fffu, 0x1000u, 0x1001u, 0x2fffu, 0x3000u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
      compare(high << 16 | low);
  for (int i = 0; i < 2000000; ++i) compare(static_cast<std::uint32_t>(random()));
  CHECK(different == 0);
  CHECK(bits(oracle::on_f16_grid(65519.996f)) == bits(65504.0f));
  CHECK(std::isinf(oracle::on_f16_grid(65520.0f)));
  CHECK(bits(oracle::on_f16_grid(0x1p-25f)) == bits(0.0f));  // a tie, to even
  CHECK(bits(oracle::on_f16_grid(-0x1.000002p-25f)) == bits(-0x1p-24f));
}

TEST_CASE("row_math: integers order as the fp32 numbers do") {
  const float ascending[] = {-INFINITY, -3e38f, -1.0f, -1e-45f, -0.0f, 0.0f, 1e-45f, 1.0f, 3e38f, INFINITY};
  for (std::size_t i = 1; i < std::size(ascending); ++i)
    CHECK(oracle::order_of(ascending[i - 1]) < oracle::order_of(ascending[i]));
  for (const float x : ascending)
    CHECK(oracle::ordered(oracle::order_of(x)) == std::bit_cast<std::int32_t>(x));
}

TEST_CASE("row_math: exp is within 2^-50 + |d| 2^-53 of the truth, and exact at 0") {
  CHECK(oracle::exp_fp64(0.0) == 1.0);
  CHECK(oracle::exp_fp64(-0.0) == 1.0);
  std::mt19937_64 random(12);
  std::uniform_real_distribution<double> uniform(-1.0, 0.0);
  double worst = 0;
  for (const double range : {1e-6, 1.0, 30.0, 700.0})
    for (int i = 0; i < 200000; ++i) {
      const double d = uniform(random) * range;
      const double limit = 0x1p-50 + std::fabs(d) * 0x1p-53;
      worst = std::max(worst, relative(oracle::exp_fp64(d), std::exp(static_cast<long double>(d))) / limit);
    }
  INFO("largest fraction of the bound: " << worst);
  CHECK(worst <= 1.0);
  CHECK(worst > 0.05);  // the bound means something
}

TEST_CASE("row_math: log is within 2^-50 of the truth from 1 + 2^-52 to 2^41, and +0 at 1") {
  CHECK(std::bit_cast<std::uint64_t>(oracle::log_fp64(1.0)) == 0);
  std::mt19937_64 random(13);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  double worst = 0;
  const auto compare = [&](double s) {
    worst = std::max(worst, relative(oracle::log_fp64(s), std::log(static_cast<long double>(s))));
  };
  for (int power = -52; power <= 41; ++power)
    for (int i = 0; i < 5000; ++i) compare(1.0 + std::ldexp(1.0 + uniform(random), power));
  for (const double near :
       {0x1.69fffffffffffp0, 0x1.6ap0, 0x1.6a00000000001p0, 0x1.fffffffffffffp0, 2.0, 0x1p40})
    compare(near);
  INFO("largest relative error: " << worst);
  CHECK(worst <= 0x1p-50);
}

TEST_CASE("row_math: the maths can be evaluated by the compiler, so no library call is hidden in it") {
  static_assert(oracle::exp_fp64(0.0) == 1.0);
  static_assert(oracle::log_fp64(1.0) == 0.0);
  static_assert(oracle::from_bf16(0x3f80) == 1.0f && oracle::from_f16(0x0001) == 0x1p-24f);
  static_assert(oracle::finish(2.0f, 1.0, 2.0f).lse == 2.0f);
  SUCCEED();
}
