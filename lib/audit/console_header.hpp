#pragma once

// The '#' lines above the numbers: what was audited, with what, and where each answer came from.

#include <string>
#include <vector>

#include "report/report.hpp"

namespace drift {

std::vector<std::string> console_header(const AggregateReport& report);

/// The shortest text that reads back as the same fp32.
std::string exact_number(float value);

}  // namespace drift
