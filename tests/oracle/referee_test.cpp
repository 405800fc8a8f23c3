// The referee judges the oracle, so long double and closed forms judge the referee.

#include "oracle/exact_row.hpp"
#include "oracle/oracle.hpp"
#include "support/catch.hpp"

namespace {

exact::Truth refereed(const oracle::Rows& rows, std::int64_t row = 0) {
  exact::Truth out{};
  oracle::referee(rows, row, &out.lse, &out.logp);
  return out;
}

}  // namespace

TEST_CASE("referee: agrees with long double to 1e-13 for every dtype, rounding and temperature") {
  constexpr std::int64_t vocab = 5003, target = 17;
  std::vector<float> values = exact::normal_values(vocab, 6.0f, 31);
  values[3] = -exact::inf;
  values[4] = -1e30f;
  values[5] = 0x1p-20f;  // subnormal in f16
  double worst = 0;
  for (const oracle::Dtype stored : exact::all_dtypes)
    for (const oracle::Dtype rounded : {oracle::Dtype::f32, oracle::Dtype::bf16, oracle::Dtype::f16})
      for (const float temperature : {1.0f, 0.7f}) {
        const exact::Packed row(values, stored);
        std::vector<float> counted(values);
        for (float& x : counted) x = exact::as_stored(exact::as_stored(x, stored), rounded) / temperature;
        counted[4] = -exact::inf;
        const exact::Truth truth = exact::of_values(counted, target),
                           seen =
                               refereed({row.data(), stored, rounded, temperature, &target, 1, vocab, vocab});
        worst = std::max({worst, std::fabs(seen.lse - truth.lse), std::fabs(seen.logp - truth.logp)});
      }
  INFO("largest difference: " << worst);
  CHECK(worst <= 1e-13);
}

TEST_CASE("referee: rounds to 16 bits as the formats say, overflow and ties included") {
  const std::int64_t target = 0;
  const auto lse_of = [&](float x, oracle::Dtype rounded) {
    return refereed({&x, oracle::Dtype::f32, rounded, 1.0f, &target, 1, 1, 1}).lse;
  };
  CHECK(lse_of(1.00390625f, oracle::Dtype::bf16) == 1.0);       // 1 + 2^-8: a tie, to even
  CHECK(lse_of(1.01171875f, oracle::Dtype::bf16) == 1.015625);  // 1 + 3 2^-8: a tie, to even
  CHECK(lse_of(65519.0f, oracle::Dtype::f16) == 65504.0);
  CHECK(std::isnan(lse_of(65520.0f, oracle::Dtype::f16)));   // +inf
  CHECK(lse_of(0x1.8p-24f, oracle::Dtype::f16) == 0x1p-23);  // subnormal tie, to even
  CHECK(lse_of(-0x1p-26f, oracle::Dtype::f16) == 0.0);
}

TEST_CASE("referee: finds the row, and gives NaN where the oracle does") {
  const std::vector<float> x{0.0f,       0.0f, 9.0f, 1.0f,        1.0f, 9.0f,
                             exact::nan, 0.0f, 9.0f, -exact::inf, 2.0f, 9.0f};
  const std::vector<std::int64_t> targets{0, -1, 1, 0};
  const oracle::Rows rows{x.data(), oracle::Dtype::f32, oracle::Dtype::f32, 1.0f, targets.data(), 4, 3, 2};
  CHECK(refereed(rows, 0).lse == std::log(2.0));
  CHECK(refereed(rows, 0).logp == -std::log(2.0));
  CHECK(refereed(rows, 1).lse == 1.0 + std::log(2.0));
  CHECK(std::isnan(refereed(rows, 1).logp));
  CHECK(std::isnan(refereed(rows, 2).lse));
  CHECK(refereed(rows, 3).lse == 2.0);
  CHECK(std::isnan(refereed(rows, 3).logp));
}

TEST_CASE("referee: fraction_of_bound is |difference| / (0.6 ulp32 + 2^-22)") {
  CHECK(oracle::fraction_of_bound(1.0f, 1.0) == 0.0);
  CHECK(oracle::fraction_of_bound(1.0f, 1.0 + 0.6 * 0x1p-23 + 0x1p-22) == Approx(1.0));
  CHECK(oracle::fraction_of_bound(-24.0f, -24.0 - 0.6 * 0x1p-19 - 0x1p-22) == Approx(1.0));
  CHECK(oracle::fraction_of_bound(0.0f, -0x1p-22) == Approx(1.0));
  CHECK(oracle::fraction_of_bound(exact::nan, std::nan("")) == 0.0);
  CHECK(std::isinf(oracle::fraction_of_bound(exact::nan, 1.0)));
  CHECK(std::isinf(oracle::fraction_of_bound(1.0f, std::nan(""))));
  CHECK(std::isinf(oracle::fraction_of_bound(exact::inf, 1.0)));
}

TEST_CASE("referee: an oracle with a running fp32 sum would be refused") {
  std::vector<float> x(151669, 0.0f);
  x[0] = 12.0f;  // first: every later term is rounded against the peak
  float naive = 0;
  for (const float value : x) naive += std::exp(value - 12.0f);
  const std::int64_t target = 0;
  const exact::Truth truth =
      refereed({x.data(), oracle::Dtype::f32, oracle::Dtype::f32, 1.0f, &target, 1, 151669, 151669});
  CHECK(oracle::fraction_of_bound(-std::log(naive), truth.logp) > 10.0);
  CHECK(oracle::fraction_of_bound(exact::OneRow(x, 0).logp, truth.logp) <= 1.0);
}
