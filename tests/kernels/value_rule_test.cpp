// The dump view: what each option makes of a stored number.

#include "kernels/value_rule.hpp"

#include <cstring>
#include <limits>
#include <vector>

#include "kernels/read_values.hpp"
#include "support/catch.hpp"

using namespace drift;

TEST_CASE("value_rule: three orders of dividing by a temperature give three numbers") {
  const float x = 3.140625f;  // a bf16 number
  ValueRule rule{Dtype::BF16, Dtype::BF16, TemperatureOrder::f32, 0.7f};
  CHECK(value_of(x, rule) == x / 0.7f);
  rule.order = TemperatureOrder::reciprocal;
  CHECK(value_of(x, rule) == x * (1.0f / 0.7f));
  rule.order = TemperatureOrder::native;
  CHECK(value_of(x, rule) == widen_bf16(round_bf16(x / 0.69921875f)));  // bf16(0.7)
  CHECK_FALSE(rule.is_plain());
}

TEST_CASE("value_rule: a candidate dtype rounds before the division") {
  const ValueRule rule{Dtype::F32, Dtype::BF16, TemperatureOrder::f32, 2.0f};
  CHECK(value_of(1.00390625f, rule) == 0.5f);        // a tie, to even
  CHECK(value_of(1.01171875f, rule) == 0.5078125f);  // the next tie goes up
}

TEST_CASE("value_rule: below -2^30 is a mask, above 2^30 is +inf, both after the division") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const ValueRule rule{};
  CHECK(value_of(-0x1p30f, rule) == -0x1p30f);
  CHECK(value_of(-0x1.000002p30f, rule) == -infinity);
  CHECK(value_of(0x1p30f, rule) == 0x1p30f);
  CHECK(value_of(0x1.000002p30f, rule) == infinity);
  CHECK(value_of(0x1p30f, {Dtype::F32, Dtype::F32, TemperatureOrder::f32, 0.5f}) == infinity);
  CHECK(value_of(-1e30f, {Dtype::F32, Dtype::F32, TemperatureOrder::f32, 1e25f}) == -1e30f / 1e25f);
}

TEST_CASE("read_values: the rule over arrays, for every dtype at any address") {
  const ValueRule rule{Dtype::F16, Dtype::F16, TemperatureOrder::f32, 1.0f};
  std::vector<std::byte> data(1 + 3 * 2);
  const std::uint16_t bits[]{round_f16(1.5f), 0xfc00u, 0x0001u};
  std::memcpy(data.data() + 1, bits, 6);
  float out[3];
  cpu::read_values(rule, data.data() + 1, 3, out);
  CHECK(out[0] == 1.5f);
  CHECK(out[1] == -std::numeric_limits<float>::infinity());
  CHECK(out[2] == 0x1p-24f);
  const double wide[]{0.1, 1e300, -1e300};
  cpu::read_values({Dtype::F64, Dtype::F32, TemperatureOrder::f32, 1.0f},
                   reinterpret_cast<const std::byte*>(wide), 3, out);
  CHECK(out[0] == 0.1f);
  CHECK(out[1] == std::numeric_limits<float>::infinity());
  CHECK(out[2] == -std::numeric_limits<float>::infinity());
}
