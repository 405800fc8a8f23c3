// Rows one after another, two passes each: the largest value, then the sum of exponentials in fp64.

#include <cstddef>

#include "oracle/oracle.hpp"
#include "oracle/row_loops.hpp"
#include "oracle/row_passes.hpp"

namespace oracle {
namespace {

std::int64_t bytes_of(Dtype dtype) { return dtype == Dtype::f64 ? 8 : dtype == Dtype::f32 ? 4 : 2; }

}  // namespace

void log_prob_with(const RowLoops& loops, const Rows& rows, float* lse, float* logp) {
  const std::int64_t row_bytes = rows.pitch * bytes_of(rows.stored);
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    const void* row = static_cast<const std::byte*>(rows.logits) + r * row_bytes;
    const Extent extent = loops.extent(rows, row);
    RowValues values{quiet_nan(), quiet_nan()};
    if (extent.countable()) {
      float target = quiet_nan();
      if (const std::int64_t t = rows.targets[r]; t >= 0 && t < rows.vocab) load(rows, row, t, 1, &target);
      values = finish(extent.max(), loops.sum(rows, row, extent.max()), target);
    }
    lse[r] = values.lse;
    logp[r] = values.logp;
  }
}

void log_prob_cpu(const Rows& rows, float* lse, float* logp) {
  log_prob_with(row_loops().front(), rows, lse, logp);
}

const char* name() { return "two-pass-fp64"; }

}  // namespace oracle
