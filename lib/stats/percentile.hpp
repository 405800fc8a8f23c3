#pragma once

// Percentiles by nearest rank: each is a value that occurred, never an interpolation between two.

#include <span>
#include <vector>

namespace drift {

/// For each of `permille` (ascending, in (0, 1000]) the smallest value with at least that share of `values`
/// at or below it. Reorders `values`. No values: NaNs.
std::vector<double> nearest_ranks(std::span<double> values, std::span<const int> permille);

}  // namespace drift
