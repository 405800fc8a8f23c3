#pragma once

// What the table says about the user's own numbers beyond statistics of d: noise, the frameworks' metrics,
// and strata. Of many comparisons the worst are shown.

#include <span>
#include <string>
#include <vector>

#include "report/report.hpp"

namespace drift {

/// A table of |d| in units of what rounding the logits to their stored dtype does, one line a recorded
/// tensor.
std::vector<std::string> noise_lines(const AggregateReport& report);
/// The most read numbers of each pair, and all that a framework logs under its own names where --metric-names
/// asked.
std::vector<std::string> metric_lines(const AggregateReport& report);
/// The tables named in `wanted` ("all": every one) of recorded tensors against the oracle and of pairs.
std::vector<std::string> strata_lines(const AggregateReport& report, std::span<const std::string> wanted);

}  // namespace drift
