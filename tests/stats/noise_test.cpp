// |d| in units of sigma: nearest ranks, and the rows where sigma is 0 or worthless.

#include "stats/noise.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace drift;

namespace {

constexpr float nan32 = std::numeric_limits<float>::quiet_NaN();
constexpr float inf32 = std::numeric_limits<float>::infinity();

Noise noise(const std::vector<float>& d, const std::vector<float>& sigma) {
  const std::vector<float> zero(d.size(), 0.0f);
  return noise_of(d, zero, sigma, std::vector<std::uint8_t>(d.size(), 1));
}

}  // namespace

TEST_CASE("noise: multiples of sigma, by nearest rank") {
  const Noise n = noise({0.5f, -1.0f, 12.0f, 1.0f}, {0.25f, 1.0f, 2.0f, 0.5f});  // 2, 1, 6, 2
  CHECK(n.count == 4);
  CHECK(n.median == 2);
  CHECK(n.p99 == 6);
  CHECK(n.max == 6);
  CHECK(n.sigma_median == 0.5);
  CHECK(n.share_over_6 == 0);  // 6 is not over 6
  CHECK(noise({6.5f, 1.0f}, {1.0f, 1.0f}).share_over_6 == 0.5);
}

TEST_CASE("noise: no drift is 0 also where sigma is 0, any other drift there is infinite") {
  const Noise n = noise({0.0f, 0x1p-20f, 0.0f}, {0.0f, 0.0f, 1.0f});
  CHECK(n.count == 3);
  CHECK(n.median == 0);
  CHECK(n.max == std::numeric_limits<double>::infinity());
  CHECK(n.share_over_6 == 1.0 / 3);
}

TEST_CASE("noise: rows that are not compared, not finite, or without sigma are left out") {
  const std::vector<float> candidate{1, nan32, 1, 1, 1, 4, 1}, reference{0, 0, inf32, 0, 0, 0, 0};
  const std::vector<float> sigma{nan32, 1, 1, -1, inf32, 2, 1};
  const Noise n = noise_of(candidate, reference, sigma, std::vector<std::uint8_t>{1, 1, 1, 1, 1, 1, 0});
  CHECK(n.count == 1);
  CHECK(n.max == 2);
}

TEST_CASE("noise: nothing compared gives NaN") {
  for (const Noise& n : {noise({}, {}), noise({1.0f}, {nan32})}) {
    CHECK(n.count == 0);
    for (const double value : {n.sigma_median, n.median, n.p99, n.max, n.share_over_6})
      CHECK(std::isnan(value));
  }
}

TEST_CASE("noise: columns of different length are a broken invariant") {
  const std::vector<float> two{1, 2}, one{1};
  const std::vector<std::uint8_t> use{1, 1};
  CHECK_THROWS_AS(noise_of(two, two, one, use), Error);
  CHECK_THROWS_AS(noise_of(one, two, two, use), Error);
}
