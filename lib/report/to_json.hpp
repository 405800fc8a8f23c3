#pragma once

// The report structs as JSON documents: keys in the order of the schemas, 2-space indent, a newline at the
// end. Copies and computes nothing but |d|, ulps and bits of a token's two values. The same struct gives the
// same bytes.

#include <string>

#include "report/explain_report.hpp"
#include "report/report.hpp"

namespace drift {

inline constexpr const char* schema_version = "1.0";

std::string to_json(const AggregateReport& report);
std::string to_json(const RankReport& report);
std::string to_json(const RunInfo& info);
std::string to_json(const ExplainReport& report);

}  // namespace drift
