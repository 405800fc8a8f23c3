#pragma once

// What `explain` prints on rank 0: a pure function of its report.

#include <span>
#include <string>
#include <vector>

#include "report/explain_report.hpp"
#include "report/report.hpp"

namespace drift {

/// `run`: what ran and on what, for the header. `quiet`: the sentences only, one line a recorded tensor.
std::vector<std::string> console_explanation(const AggregateReport& run, const ExplainReport& report,
                                             const std::string& folder, std::span<const std::string> warnings,
                                             bool quiet);

}  // namespace drift
