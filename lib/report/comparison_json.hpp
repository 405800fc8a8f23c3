#pragma once

// Comparisons of what the user's system recorded, as JSON. Private to lib/report.

#include "report/number.hpp"
#include "report/report.hpp"

namespace drift {

Json noise_json(const Noise& noise);
Json recorded_json(const RecordedReport& recorded);
Json pair_json(const PairReport& pair);

}  // namespace drift
