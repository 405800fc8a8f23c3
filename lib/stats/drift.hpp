#pragma once

// The statistics of one comparison: one sequential fp64 pass in row order over d = candidate - reference
// (both fp32).

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/ulp.hpp"

namespace drift {

/// All values are nats unless the name ends in _ulp. Rows that are left out count in `nonfinite` only if they
/// are active.
struct Drift {
  std::int64_t count = 0;  ///< rows compared
  std::int64_t nonfinite =
      0;  ///< rows that should have been compared but were left out, or either value non-finite
  std::int64_t mismatch_count = 0;      ///< d != 0
  std::int64_t bit_mismatch_count = 0;  ///< bit patterns differ (0.0 and -0.0 do)
  double max_abs = 0, mean_abs = 0, mean = 0, rms = 0;
  double p50 = 0, p95 = 0, p99 = 0, p999 = 0;  ///< of |d|, nearest rank
  double max_rel = 0;                          ///< |d| / max(|reference|, 1e-12)
  std::int64_t max_ulp = 0;
  /// Upper edge of a bin (0, 1, 2, 4, 8, ... : bin u counts distances in (u/2, u]) -> rows. Empty bins are
  /// absent.
  std::map<std::int64_t, std::int64_t> ulp_histogram;
};

/// One row of a comparison.
struct WorstRow {
  std::int64_t row = 0;
  float candidate = 0, reference = 0;
};

/// use[r] != 0: row r should be compared; it counts in `nonfinite` instead if either value is not finite. All
/// spans have one element a row (else Fault::internal). No row compared: every double is NaN (nothing
/// compared must not look like nothing wrong), every integer 0.
Drift drift_of(std::span<const float> candidate, std::span<const float> reference,
               std::span<const std::uint8_t> use);

/// min(k, count) compared rows, by |d| descending, then row ascending; also with d = 0.
std::vector<WorstRow> worst_rows(std::span<const float> candidate, std::span<const float> reference,
                                 std::span<const std::uint8_t> use, std::int64_t k);

}  // namespace drift
