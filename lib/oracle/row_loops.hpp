#pragma once

// The oracle's two passes over a row, compiled for several instruction sets from one text. All give the same
// bits.

#include <span>

#include "oracle/oracle.hpp"
#include "oracle/row_math.hpp"

namespace oracle {

struct RowLoops {
  const char* name;  ///< instruction set
  /// First pass: extent of the row's values, after widening, rounding and division.
  Extent (*extent)(const Rows&, const void* row);
  /// Second pass: sum of e^(x - max) in the order of `lanes`.
  double (*sum)(const Rows&, const void* row, float max);
};

/// Those this processor can run, fastest first; never empty. (x86/ and portable/: CMake picks one.)
std::span<const RowLoops> row_loops();

/// log_prob_cpu with given loops: tests compare all of them.
void log_prob_with(const RowLoops& loops, const Rows& rows, float* lse, float* logp);

}  // namespace oracle
