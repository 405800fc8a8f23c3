#pragma once

// Stored floats as fp32: the only conversion between a file's bytes and a number.

#include <cstddef>
#include <span>

#include "base/dtype.hpp"

namespace drift {

/// BF16, F16, F32 exactly; F64 rounded once to nearest even. `stored` holds out.size() elements at any
/// alignment. Throws Fault::internal for another dtype.
void widen(Dtype dtype, std::span<const std::byte> stored, std::span<float> out);

}  // namespace drift
