#include "stats/zeros.hpp"

#include <limits>
#include <vector>

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace drift;

namespace {

constexpr float nan32 = std::numeric_limits<float>::quiet_NaN();

std::int64_t zeros(const std::vector<float>& values, const std::vector<float>& other) {
  return zeros_among(values, other, std::vector<std::uint8_t>(values.size(), 1));
}

}  // namespace

TEST_CASE("zeros_among: exact zeros where the other side says that the token was not certain") {
  CHECK(zeros({0, -0.0f, -1, 0}, {-10.8f, -2, -2, -0.002f}) == 3);
  CHECK(zeros_among(std::vector<float>{0, 0}, std::vector<float>{-1, -2}, std::vector<std::uint8_t>{0, 1}) ==
        1);
}

TEST_CASE("zeros_among: a 0 that is right, or nearly, is none") {
  CHECK(zeros({0, 0, 0}, {-0.001f, -1e-5f, 0}) == 0);
  CHECK(zeros({-1e-30f, -5, nan32, 0}, {-5, 0, -5, nan32}) == 0);
  CHECK(zeros({}, {}) == 0);
}

TEST_CASE("zeros_among: columns of different lengths are a bug") { CHECK_THROWS_AS(zeros({0}, {}), Error); }
