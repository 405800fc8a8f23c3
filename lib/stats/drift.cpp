#include "stats/drift.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>

#include "base/error.hpp"
#include "stats/percentile.hpp"

namespace drift {
namespace {

void check_shapes(std::span<const float> candidate, std::span<const float> reference,
                  std::span<const std::uint8_t> use) {
  require(candidate.size() == reference.size() && candidate.size() == use.size(), Fault::internal,
          "columns of one comparison have different lengths, seen " + std::to_string(candidate.size()) +
              ", " + std::to_string(reference.size()) + " and " + std::to_string(use.size()));
}

// Two fp32 values subtract in fp64 with at most one rounding, and without any where both lie within 2^29 of
// each other.
double difference(float candidate, float reference) {
  return static_cast<double>(candidate) - static_cast<double>(reference);
}

std::int64_t upper_edge(std::int64_t ulps) {
  return ulps == 0 ? 0 : static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(ulps)));
}

}  // namespace

Drift drift_of(std::span<const float> candidate, std::span<const float> reference,
               std::span<const std::uint8_t> use) {
  check_shapes(candidate, reference, use);
  Drift out;
  std::vector<double> distances;
  distances.reserve(candidate.size());
  std::array<std::int64_t, 64> bins{};  // by log2 of the upper edge; distance 0 apart
  std::int64_t equal = 0;
  double sum = 0, sum_abs = 0, sum_squares = 0;
  for (std::size_t r = 0; r < candidate.size(); ++r) {
    if (!use[r]) continue;
    const float c = candidate[r], f = reference[r];
    if (!std::isfinite(c) || !std::isfinite(f)) {
      ++out.nonfinite;
      continue;
    }
    const double d = difference(c, f), magnitude = std::fabs(d);
    out.mismatch_count += d != 0;
    out.bit_mismatch_count += std::bit_cast<std::uint32_t>(c) != std::bit_cast<std::uint32_t>(f);
    sum += d;
    sum_abs += magnitude;
    sum_squares += d * d;
    out.max_abs = std::max(out.max_abs, magnitude);
    out.max_rel = std::max(out.max_rel, magnitude / std::max(std::fabs(static_cast<double>(f)), 1e-12));
    const std::int64_t ulps = ulp_distance(c, f);
    out.max_ulp = std::max(out.max_ulp, ulps);
    if (ulps == 0)
      ++equal;
    else
      ++bins[static_cast<std::size_t>(std::countr_zero(static_cast<std::uint64_t>(upper_edge(ulps))))];
    distances.push_back(magnitude);
  }
  out.count = static_cast<std::int64_t>(distances.size());
  if (out.count == 0) {
    for (double* value : {&out.max_abs, &out.mean_abs, &out.mean, &out.rms, &out.p50, &out.p95, &out.p99,
                          &out.p999, &out.max_rel})
      *value = std::numeric_limits<double>::quiet_NaN();
    return out;
  }
  const auto count = static_cast<double>(out.count);
  out.mean = sum / count;
  out.mean_abs = sum_abs / count;
  out.rms = std::sqrt(sum_squares / count);
  constexpr std::array permille{500, 950, 990, 999};
  const std::vector<double> ranks = nearest_ranks(distances, permille);
  out.p50 = ranks[0];
  out.p95 = ranks[1];
  out.p99 = ranks[2];
  out.p999 = ranks[3];
  if (equal > 0) out.ulp_histogram[0] = equal;
  for (std::size_t b = 0; b < bins.size(); ++b)
    if (bins[b] > 0) out.ulp_histogram[std::int64_t{1} << b] = bins[b];
  return out;
}

std::vector<WorstRow> worst_rows(std::span<const float> candidate, std::span<const float> reference,
                                 std::span<const std::uint8_t> use, std::int64_t k) {
  check_shapes(candidate, reference, use);
  const auto worse = [](const WorstRow& a, const WorstRow& b) {
    const double da = std::fabs(difference(a.candidate, a.reference));
    const double db = std::fabs(difference(b.candidate, b.reference));
    return da != db ? da > db : a.row < b.row;
  };
  std::vector<WorstRow> kept;  // a heap with the least bad row on top, so that k rows are all that is held
  if (k <= 0) return kept;
  for (std::size_t r = 0; r < candidate.size(); ++r) {
    if (!use[r] || !std::isfinite(candidate[r]) || !std::isfinite(reference[r])) continue;
    const WorstRow row{static_cast<std::int64_t>(r), candidate[r], reference[r]};
    if (static_cast<std::int64_t>(kept.size()) == k) {
      if (!worse(row, kept.front())) continue;
      std::pop_heap(kept.begin(), kept.end(), worse);
      kept.back() = row;
    } else {
      kept.push_back(row);
    }
    std::push_heap(kept.begin(), kept.end(), worse);
  }
  std::sort_heap(kept.begin(), kept.end(), worse);
  return kept;
}

}  // namespace drift
