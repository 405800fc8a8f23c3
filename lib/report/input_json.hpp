#pragma once

// What was audited, as JSON: the part that aggregate.json and explain.json share. Private to lib/report.

#include <string>
#include <utility>
#include <vector>

#include "report/number.hpp"
#include "report/report.hpp"

namespace drift {

Json sources_json(const std::vector<std::pair<std::string, std::string>>& sources);
Json topology_json(const AggregateReport::Topology& topology);
Json input_json(const InputReport& input);

}  // namespace drift
