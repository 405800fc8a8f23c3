#pragma once

// The lines of the table that are about single rows: the worst tokens, and values that are not finite.

#include <string>
#include <vector>

#include "report/report.hpp"

namespace drift {

/// The user's own numbers first, against the oracle and wherever a --gate failed; a candidate's only where it
/// drifted. Of many comparisons the worst.
std::vector<std::string> worst_lines(const AggregateReport& report);
/// Recorded values that are not finite have no worst token: says where they can be seen.
std::vector<std::string> lost_lines(const AggregateReport& report);
/// Active rows of logits that have no log-prob, with their place.
std::vector<std::string> nonfinite_lines(const AggregateReport& report);

}  // namespace drift
