#include "base/ulp.hpp"

#include <cmath>
#include <limits>

#include "support/catch.hpp"

using namespace drift;

TEST_CASE("ulp32: the step to the next larger fp32") {
  CHECK(ulp32(1.0) == 0x1p-23);
  CHECK(ulp32(-1.5) == 0x1p-23);
  CHECK(ulp32(2.0) == 0x1p-22);
  CHECK(ulp32(0.0) == 0x1p-149);
  CHECK(ulp32(12.0) == 0x1p-20);
  CHECK(ulp32(static_cast<double>(std::numeric_limits<float>::max())) == 0x1p104);
  CHECK(std::isnan(ulp32(std::numeric_limits<double>::infinity())));
}

TEST_CASE("ulp_distance: counts the fp32 values between, across zero too") {
  CHECK(ulp_distance(1.0f, 1.0f) == 0);
  CHECK(ulp_distance(1.0f, std::nextafter(1.0f, 2.0f)) == 1);
  CHECK(ulp_distance(0.0f, -0.0f) == 0);
  CHECK(ulp_distance(-0x1p-149f, 0x1p-149f) == 2);
  CHECK(ulp_distance(-1.0f, 1.0f) == 2 * 0x3f800000LL);
}
