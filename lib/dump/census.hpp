#pragma once

// Counts of what is not an ordinary logit, over a whole dump in bounded memory.

#include <cstdint>

#include "base/range.hpp"
#include "dump/dump_file.hpp"

namespace drift {

/// Values after widening to fp32 (before temperature). The four kinds exclude one another.
struct Census {
  std::int64_t values = 0;  ///< looked at
  std::int64_t nan = 0;
  std::int64_t plus = 0;                           ///< +inf, and finite above 2^30, which counts as it
  std::int64_t minus = 0;                          ///< -inf
  std::int64_t masked = 0;                         ///< finite below -2^30 (finfo.min, -1e30): counts as -inf
  std::int64_t first_row = -1, first_column = -1;  ///< of the first NaN or plus; -1: none
};

struct LogitsCensus {
  Census real, padded;
};

/// Over a float tensor whose last dimension is `padded_vocab`: columns [0, real_vocab) and the rest.
LogitsCensus census_of(const DumpFile& dump, const TensorInfo& logits, std::int64_t real_vocab);

}  // namespace drift
