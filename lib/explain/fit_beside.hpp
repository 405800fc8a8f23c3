#pragma once

// Temperatures and truncations that show only beside another cause: negated, in bits, of another column, ...
// Private to lib/explain.

#include <optional>
#include <span>

#include "explain/explain.hpp"

namespace drift::hypothesis {

/// Of the numbers that people choose (multiples of 0.05, top-k 50, top-p 0.9, ...) the one under which, with
/// one option of another axis, the sampled rows come out; empty: none.
std::optional<double> temperature_beside(std::span<const SampleRow> samples, const Survey& survey,
                                         std::span<const float> recorded);
std::optional<Truncation> truncation_beside(std::span<const SampleRow> samples, const Survey& survey,
                                            std::span<const float> recorded);

}  // namespace drift::hypothesis
