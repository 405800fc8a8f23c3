#pragma once

// Private to lib/report.

#include "report/number.hpp"
#include "report/report.hpp"

namespace drift {

Json environment_json(const Environment& environment);

}  // namespace drift
