// Every 16-bit pattern, and rounding against a plain search for the nearest number.

#include "base/float16.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "support/catch.hpp"

using namespace drift;

namespace {

/// The number that sign, exponent and fraction say, by ldexp.
double by_definition(std::uint16_t bits, int fraction_bits, int bias) {
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const int exponent = (bits & 0x7fff) >> fraction_bits;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
}

struct Kind {
  float (*widen)(std::uint16_t);
  std::uint16_t (*round)(float);
  int fraction_bits, bias;
  std::uint16_t infinity;
};
constexpr Kind bf16{widen_bf16, round_bf16, 7, 127, 0x7f80}, f16{widen_f16, round_f16, 10, 15, 0x7c00};

/// What lies between two neighbouring numbers goes to the nearer; the middle to the one with an even last
/// bit. Past the largest number the next step would be 2^(emax + 1), whose place infinity takes.
void check_between(const Kind& kind, std::uint16_t low) {
  const auto high = static_cast<std::uint16_t>(low + 1);
  const double a = static_cast<double>(kind.widen(low)),
               b = by_definition(high, kind.fraction_bits, kind.bias);
  const double middle = a + (b - a) / 2;
  const float tie = static_cast<float>(middle);
  if (static_cast<double>(tie) != middle) return;  // between bf16 subnormals fp32 may lack the middle
  const std::uint16_t even = low % 2 == 0 ? low : high;
  const float below = std::nextafter(tie, 0.0f),
              above = std::nextafter(tie, std::numeric_limits<float>::infinity());
  const auto minus = [](std::uint16_t bits) { return static_cast<std::uint16_t>(bits | 0x8000); };
  REQUIRE(kind.round(tie) == even);
  REQUIRE(kind.round(below) == low);
  REQUIRE(kind.round(above) == high);
  REQUIRE(kind.round(-tie) == minus(even));
  REQUIRE(kind.round(-below) == minus(low));
  REQUIRE(kind.round(-above) == minus(high));
}

}  // namespace

TEST_CASE("16-bit floats: all 65536 patterns widen to their number and round back to themselves") {
  for (const Kind& kind : {bf16, f16})
    for (std::uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
      const auto bits = static_cast<std::uint16_t>(pattern);
      const float wide = kind.widen(bits);
      const int magnitude = bits & 0x7fff;
      CAPTURE(pattern, kind.bias);
      if (magnitude > kind.infinity) {
        REQUIRE(std::isnan(wide));
        REQUIRE((kind.round(wide) & 0x7fff) > kind.infinity);
      } else if (magnitude == kind.infinity) {
        REQUIRE(std::isinf(wide));
        REQUIRE(std::signbit(wide) == (bits >= 0x8000));
        REQUIRE(kind.round(wide) == bits);
      } else {
        REQUIRE(static_cast<double>(wide) == by_definition(bits, kind.fraction_bits, kind.bias));
        REQUIRE(std::signbit(wide) == (bits >= 0x8000));
        REQUIRE(kind.round(wide) == bits);
      }
    }
}

TEST_CASE("16-bit floats: rounding goes to the nearest, ties to even, between all neighbours") {
  for (const Kind& kind : {bf16, f16})
    for (std::uint16_t low = 0; low < kind.infinity; ++low) check_between(kind, low);
}

TEST_CASE("16-bit floats: overflow becomes infinity, tiny numbers zero, with their sign") {
  CHECK(round_f16(65519.996f) == 0x7bff);
  CHECK(round_f16(65520.0f) == 0x7c00);
  CHECK(round_f16(-1e30f) == 0xfc00);
  CHECK(round_bf16(std::numeric_limits<float>::max()) == 0x7f80);
  CHECK(round_f16(0x1p-26f) == 0);
  CHECK(round_f16(-0x1p-26f) == 0x8000);
  CHECK(round_f16(0x1p-25f) == 0);  // a tie between 0 and the smallest
  CHECK(round_f16(0x1.8p-25f) == 0x0001);
}
