#pragma once

// Log-probs that are exactly 0 where they cannot be: what a buffer that nobody filled looks like.

#include <string>
#include <vector>

#include "report/report.hpp"

namespace drift {

/// One line a recorded tensor with values of exactly 0 where the oracle, or the other side of a pair, is
/// below -1e-3. Counted in the worst tokens, where such values are: "at least" if there may be more.
std::vector<std::string> zero_warnings(const AggregateReport& report);

}  // namespace drift
