#pragma once

// The report structs as JSON documents: keys in the order of the schemas, 2-space indent, a newline at the
// end. Copies and computes nothing but |d|, ulps and bits of a token's two values. The same struct gives the
// same bytes.

#include <string>

#include "report/report.hpp"

namespace drift {

inline constexpr const char* schema_version = "1.0";

std::string to_json(const AggregateReport& report);
std::string to_json(const RankReport& report);
std::string to_json(const RunInfo& info);

}  // namespace drift
