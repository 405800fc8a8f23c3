// Every instruction set this processor has must give the oracle the same bits.

#include "oracle/row_loops.hpp"

#include "oracle/exact_row.hpp"
#include "support/catch.hpp"

TEST_CASE("row_loops: all instruction sets give the same bits, at any address") {
  const auto all = oracle::row_loops();
  REQUIRE_FALSE(all.empty());
  INFO("fastest here: " << all.front().name << ", compiled and usable: " << all.size());
  if (all.size() == 1)
    WARN("only one instruction set (" << all.front().name << ") can run here: nothing to compare");
  constexpr std::int64_t pitch = 9001, vocab = 8990, count = 6;
  std::vector<float> values = exact::normal_values(count * pitch, 7.0f, 41);
  values[10] = -exact::inf;
  values[11] = -1e30f;
  values[2 * pitch + 5000] = exact::nan;
  values[3 * pitch + 8989] = 30.0f;
  for (std::size_t v = 4 * pitch; v < 5 * pitch; ++v) values[v] = -exact::inf;
  const std::vector<std::int64_t> targets{0, 8989, 5, 8989, 7, -1};
  for (const oracle::Dtype stored : exact::all_dtypes)
    for (const std::size_t offset : {0u, 1u, 3u}) {
      const exact::Packed packed(values, stored, offset);
      for (const oracle::Dtype rounded :
           {stored, oracle::Dtype::f32, oracle::Dtype::bf16, oracle::Dtype::f16})
        for (const float temperature : {1.0f, 0.7f}) {
          const oracle::Rows rows{packed.data(),  stored, rounded, temperature,
                                  targets.data(), count,  pitch,   vocab};
          std::vector<float> first_lse(count), first_logp(count), lse(count), logp(count);
          oracle::log_prob_with(all.front(), rows, first_lse.data(), first_logp.data());
          for (const oracle::RowLoops& loops : all.subspan(1)) {
            INFO(loops.name);
            oracle::log_prob_with(loops, rows, lse.data(), logp.data());
            CHECK(std::memcmp(lse.data(), first_lse.data(), count * sizeof(float)) == 0);
            CHECK(std::memcmp(logp.data(), first_logp.data(), count * sizeof(float)) == 0);
          }
        }
    }
}

TEST_CASE("row_loops: the sum follows the documented order, bit for bit") {
  constexpr std::int64_t vocab = 5000;
  const std::vector<float> x = exact::normal_values(vocab, 3.0f, 42);
  const std::int64_t target = 0;
  const oracle::Rows rows{x.data(), oracle::Dtype::f32, oracle::Dtype::f32, 1.0f, &target, 1, vocab, vocab};
  float max = x[0];
  for (const float value : x) max = std::max(max, value);
  std::vector<double> sum(oracle::lanes, 0.0);  // the plainest text of the order
  for (std::size_t v = 0; v < x.size(); ++v)
    sum[v % oracle::lanes] += oracle::exp_fp64(static_cast<double>(x[v]) - static_cast<double>(max));
  for (std::size_t half = oracle::lanes / 2; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) sum[i] += sum[i + half];
  for (const oracle::RowLoops& loops : oracle::row_loops()) {
    INFO(loops.name);
    CHECK(loops.extent(rows, x.data()).max() == max);
    CHECK(std::bit_cast<std::uint64_t>(loops.sum(rows, x.data(), max)) ==
          std::bit_cast<std::uint64_t>(sum[0]));
  }
}
