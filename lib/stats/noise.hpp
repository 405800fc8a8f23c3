#pragma once

// |d| in units of sigma, the noise that rounding the logits to their stored dtype alone puts on a row's
// log-prob (kernels/row_moments.hpp): is a drift noise or a bug?

#include <cstdint>
#include <span>

namespace drift {

/// Statistics of |d| / sigma over compared rows. No row: NaNs.
struct Noise {
  std::int64_t count = 0;   ///< rows compared: both values and sigma finite
  double sigma_median = 0;  ///< nats
  double median = 0, p99 = 0,
         max = 0;           ///< of |d| / sigma, nearest rank; d = 0 counts as 0, also at sigma = 0
  double share_over_6 = 0;  ///< of the compared rows
};

/// One element a row (else Fault::internal); rows count where `use` is not 0.
Noise noise_of(std::span<const float> candidate, std::span<const float> reference,
               std::span<const float> sigma, std::span<const std::uint8_t> use);

}  // namespace drift
