#pragma once

// The number that a node of the fixed-tree holds and that ranks exchange.

#include <cstdint>

namespace drift {

/// A tree node's value: zero (s = 0, n = 0), or s * 2^n with s in [1, 2).
struct TreeValue {
  float s = 0.0f;
  std::int32_t n = 0;
  friend constexpr bool operator==(const TreeValue&, const TreeValue&) = default;
};

}  // namespace drift
