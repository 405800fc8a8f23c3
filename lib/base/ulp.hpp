#pragma once

// Units in the last place of fp32. Formulas derive their bounds in them, statistics count them.

#include <cstdint>

namespace drift {

/// Distance between |value| rounded to fp32 and the next larger fp32. 2^-149 at 0; NaN for NaN and infinities.
double ulp32(double value);

/// Distance of two values' ordered bit patterns; 0.0 and -0.0 are equal.
std::int64_t ulp_distance(float a, float b);

}  // namespace drift
