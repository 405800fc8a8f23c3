#pragma once

// What rank 0 prints: a pure function of the aggregate report. Lines that begin with '#' say what ran; the
// rest is numbers.

#include <span>
#include <string>
#include <vector>

#include "report/report.hpp"

namespace drift {

/// The whole table, the verdict line and the reproduce line last. `folder` is where the reports lie, "" if
/// they could not be written; `warnings` are the resolver's.
std::vector<std::string> console_table(const AggregateReport& report, const std::string& folder,
                                       std::span<const std::string> warnings = {},
                                       std::span<const std::string> strata = {});

/// One line: PASS, DRIFT or FAILED, what was compared, and where the reports lie. All that `-q` prints.
std::string verdict_line(const AggregateReport& report, const std::string& folder);

}  // namespace drift
