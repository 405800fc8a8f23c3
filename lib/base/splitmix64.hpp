#pragma once

// The mixing step of the SplitMix64 generator (Steele, Lea and Flood 2014): well spread bits from consecutive
// integers.

#include <cstdint>

namespace drift {

constexpr std::uint64_t splitmix64(std::uint64_t z) {
  z += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

}  // namespace drift
