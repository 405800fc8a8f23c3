// The oracle's numbers against long double and closed forms; its limit is the bound in oracle.hpp.

#include "oracle/oracle.hpp"

#include "oracle/exact_row.hpp"
#include "support/catch.hpp"

using exact::OneRow;

TEST_CASE("oracle: one large logit over equal others, where a running fp32 sum fails") {
  double worst = 0;
  float worst_naive = 0;
  for (const std::size_t vocab : {1000u, 10007u, 50257u, 151669u, 300001u})
    for (float peak = 5.0f; peak <= 30.0f; peak += 2.5f)
      for (const float others : {0.0f, -3.25f, 17.0f}) {
        std::vector<float> x(vocab, others);
        const std::size_t at = vocab / 3;
        x[at] = others + peak;
        // LSE = others + peak + log1p((V - 1) e^-peak), exactly
        const long double tail =
            std::log1p(static_cast<long double>(vocab - 1) * std::exp(-static_cast<long double>(peak)));
        const auto target = static_cast<std::int64_t>(at);
        const OneRow of_peak(x, target), of_other(x, 0);
        worst = std::max({worst,
                          oracle::fraction_of_bound(of_peak.lse, static_cast<double>(others + peak + tail)),
                          oracle::fraction_of_bound(of_peak.logp, static_cast<double>(-tail)),
                          oracle::fraction_of_bound(of_other.logp, static_cast<double>(-peak - tail))});
        float naive = 0;
        for (const float value : x) naive += std::exp(value - x[at]);
        worst_naive = std::max(worst_naive, std::fabs(std::log(naive) - static_cast<float>(tail)));
      }
  INFO("largest fraction of the bound: " << worst << "; a running fp32 sum is off by " << worst_naive
                                         << " nats");
  CHECK(worst <= 1.0);
  CHECK(worst_naive > 1e-4f);  // these rows do tell a bad sum
}

TEST_CASE("oracle: a confident token keeps its digits") {
  for (const float peak : {20.0f, 25.0f, 30.0f, 40.0f}) {
    std::vector<float> x(50000, 0.0f);
    x[77] = peak;
    const double truth =
        static_cast<double>(-std::log1p(49999.0L * std::exp(-static_cast<long double>(peak))));
    if (truth == 0) continue;
    const OneRow row(x, 77);
    // No 2^-22 here. 2^-24 of logp itself is the last rounding; the peak's own sum is near 1 and takes 50000
    // / 1024 + 10 additions, each rounded by 2^-53 at most.
    CHECK(std::fabs(static_cast<double>(row.logp) - truth) <= -truth * 0x1p-24 + 60 * 0x1p-53);
  }
}

TEST_CASE("oracle: equal logits give x + log V") {
  for (const std::int64_t vocab : {1, 2, 1023, 1024, 1025, 2048, 4097, 151669})
    for (const float x : {0.0f, -0.0f, 1.5f, -100.25f, 1000000.0f, -0x1p30f, 0x1p30f}) {
      const std::vector<float> values(static_cast<std::size_t>(vocab), x);
      const OneRow row(values, vocab - 1);
      const long double log_vocab = std::log(static_cast<long double>(vocab));
      CHECK(row.lse == static_cast<float>(static_cast<long double>(x) + log_vocab));
      CHECK(row.logp == -static_cast<float>(log_vocab));
      CHECK_FALSE(std::signbit(row.logp == 0 ? row.logp : 1.0f));  // zero is +0
    }
}

TEST_CASE("oracle: random rows of every dtype at every temperature and rounding are within the bound") {
  double worst = 0;
  for (const std::int64_t vocab : {1, 7, 1000, 1024, 10007, 151669}) {
    for (const float spread : {0.5f, 3.0f, 25.0f}) {
      const std::vector<float> values = exact::normal_values(static_cast<std::size_t>(vocab), spread, 21);
      for (const oracle::Dtype stored : exact::all_dtypes) {
        const exact::Packed row(values, stored, 1);  // an odd address
        for (const oracle::Dtype rounded : {oracle::Dtype::f32, oracle::Dtype::bf16, oracle::Dtype::f16})
          for (const float temperature : {1.0f, 0.7f, 0.9f, 0.6f}) {
            if (vocab > 20000 && (temperature == 0.9f || spread == 0.5f)) continue;  // long double is slow
            std::vector<float> counted(values);
            for (float& x : counted) x = exact::as_stored(exact::as_stored(x, stored), rounded) / temperature;
            const std::int64_t target = vocab / 2;
            float lse = 0, logp = 0;
            oracle::log_prob_cpu({row.data(), stored, rounded, temperature, &target, 1, vocab, vocab}, &lse,
                                 &logp);
            const exact::Truth truth = exact::of_values(counted, target);
            worst = std::max({worst, oracle::fraction_of_bound(lse, truth.lse),
                              oracle::fraction_of_bound(logp, truth.logp)});
          }
      }
    }
  }
  INFO("largest fraction of the bound: " << worst);
  CHECK(worst <= 1.0);
}

TEST_CASE("oracle: rows lie `pitch` apart and columns from `vocab` on are never looked at") {
  constexpr std::int64_t vocab = 1500, pitch = 1511, rows = 5;
  std::vector<float> values = exact::normal_values(rows * pitch, 4.0f, 22);
  std::vector<std::int64_t> targets;
  for (std::int64_t r = 0; r < rows; ++r) {
    targets.push_back(r * 300);
    for (std::int64_t v = vocab; v < pitch; ++v)
      values[static_cast<std::size_t>(r * pitch + v)] = v % 2 == 0 ? exact::nan : exact::inf;
  }
  std::vector<float> lse(rows), logp(rows);
  oracle::log_prob_cpu(
      {values.data(), oracle::Dtype::f32, oracle::Dtype::f32, 1.0f, targets.data(), rows, pitch, vocab},
      lse.data(), logp.data());
  for (std::size_t r = 0; r < rows; ++r) {
    const std::span<const float> own(values.data() + r * pitch, vocab);
    const OneRow alone(own, targets[r]);
    CHECK(lse[r] == alone.lse);
    CHECK(logp[r] == alone.logp);
  }
}

TEST_CASE("oracle: masks add nothing, whatever they are written as") {
  std::vector<float> plain = exact::normal_values(3000, 5.0f, 23), masked = plain;
  for (std::size_t v = 0; v < masked.size(); v += 3) masked[v] = -exact::inf;
  const OneRow truth(masked, 1);
  CHECK(oracle::fraction_of_bound(truth.lse, exact::of_values(masked, 1).lse) <= 1.0);
  for (const float mask : {std::numeric_limits<float>::lowest(), -1e30f, -0x1.000002p30f}) {
    for (std::size_t v = 0; v < masked.size(); v += 3) masked[v] = mask;
    const OneRow row(masked, 1);
    CHECK(row.lse == truth.lse);
    CHECK(row.logp == truth.logp);
    CHECK(std::isnan(OneRow(masked, 3).logp));  // a masked target has no log-prob
    CHECK(OneRow(masked, 3).lse == truth.lse);
  }
}

TEST_CASE("oracle: values down to -2^30 and up to 2^30 count, values beyond do not") {
  const float below = -0x1.000002p30f, above = 0x1.000002p30f;
  CHECK(OneRow(std::vector<float>{-0x1p30f, below}, 0).lse == -0x1p30f);
  CHECK(OneRow(std::vector<float>{-0x1p30f, -0x1p30f}, 0).logp == static_cast<float>(-std::log(2.0)));
  CHECK(OneRow(std::vector<float>{0x1p30f, 0.0f}, 0).lse == 0x1p30f);
  CHECK(OneRow(std::vector<float>{0x1p30f, 0.0f}, 1).logp == -0x1p30f);
  CHECK(std::isnan(OneRow(std::vector<float>{above, 0.0f}, 1).lse));
  CHECK(std::isnan(OneRow(std::vector<float>{below, below}, 0).lse));
  // Judged after the division: 2^30 / 0.7 is too large, -2^30 / 0.7 a mask.
  const std::vector<float> x{-0x1p30f, 1.0f};
  const std::int64_t target = 1;
  float lse = 0, logp = 0;
  oracle::log_prob_cpu({x.data(), oracle::Dtype::f32, oracle::Dtype::f32, 0.7f, &target, 1, 2, 2}, &lse,
                       &logp);
  CHECK(lse == 1.0f / 0.7f);
  CHECK(logp == 0.0f);
}

TEST_CASE("oracle: NaN, +inf or nothing at all give the quiet NaN 0x7fc00000") {
  const float negative_nan = std::bit_cast<float>(0xffc00001u);
  for (const float bad : {exact::nan, negative_nan, exact::inf, 1e35f})
    for (const std::size_t at : {0u, 1023u, 1024u, 2999u}) {
      std::vector<float> x(3000, 1.0f);
      x[at] = bad;
      const OneRow row(x, 5);
      CHECK(std::bit_cast<std::uint32_t>(row.lse) == 0x7fc00000u);
      CHECK(std::bit_cast<std::uint32_t>(row.logp) == 0x7fc00000u);
    }
  const OneRow empty(std::vector<float>(100, -exact::inf), 5);
  CHECK(std::bit_cast<std::uint32_t>(empty.lse) == 0x7fc00000u);
  // No target, or one outside the row: the LSE stands.
  const std::vector<float> fine(100, 1.0f);
  for (const std::int64_t target : {std::int64_t{-1}, std::int64_t{100}}) {
    const OneRow row(fine, target);
    CHECK(row.lse == static_cast<float>(1.0L + std::log(100.0L)));
    CHECK(std::bit_cast<std::uint32_t>(row.logp) == 0x7fc00000u);
  }
  // An f64 value that fp32 cannot hold is +inf after the one rounding.
  const double huge[] = {1e300, 0.0};
  const std::int64_t target = 1;
  float lse = 0, logp = 0;
  oracle::log_prob_cpu({huge, oracle::Dtype::f64, oracle::Dtype::f32, 1.0f, &target, 1, 2, 2}, &lse, &logp);
  CHECK(std::isnan(lse));
}
