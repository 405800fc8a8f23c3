#pragma once

// Log-probs that are exactly 0 where they cannot be: what a buffer that nobody filled looks like.

#include <cstdint>
#include <span>

namespace drift {

/// A log-prob below this is no rounded 0, in nats.
inline constexpr float certain_logp = -1e-3f;

/// Compared rows in which `values` is exactly 0 (or -0) and `other`, which should be equal, is below
/// certain_logp. All spans have one element a row (else Fault::internal).
std::int64_t zeros_among(std::span<const float> values, std::span<const float> other,
                         std::span<const std::uint8_t> use);

}  // namespace drift
