#include "base/ulp.hpp"

#include <bit>
#include <cmath>
#include <limits>

namespace drift {
namespace {

std::int64_t ordered(float value) {
  const auto bits = std::bit_cast<std::int32_t>(value);
  return bits >= 0 ? bits : -static_cast<std::int64_t>(bits & 0x7fffffff);
}

}  // namespace

double ulp32(double value) {
  const float magnitude = std::fabs(static_cast<float>(value));
  if (!std::isfinite(magnitude)) return std::numeric_limits<double>::quiet_NaN();
  if (magnitude == std::numeric_limits<float>::max()) return 0x1p104;
  return static_cast<double>(std::nextafter(magnitude, std::numeric_limits<float>::infinity())) -
         static_cast<double>(magnitude);
}

std::int64_t ulp_distance(float a, float b) {
  const std::int64_t distance = ordered(a) - ordered(b);
  return distance < 0 ? -distance : distance;
}

}  // namespace drift
