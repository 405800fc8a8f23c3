#pragma once

// What the gates of a report say, for the table and the verdict line: candidates' limits and --gate
// expressions apart.

#include <cstddef>
#include <string>
#include <vector>

#include "report/report.hpp"

namespace drift {

/// The limit of one quantity ("lse", "logp") of a formula; nullptr if the report has none.
const GateReport* limit_of(const AggregateReport& report, const std::string& formula,
                           const std::string& quantity);

/// Every --gate of the report, in the order typed.
std::vector<const GateReport*> expressions(const AggregateReport& report);

enum class Gated { no, passed, failed };

/// What the --gate expressions say of one comparison of the `index`-th recorded tensor.
Gated gated(const AggregateReport& report, std::size_t index, const std::string& reference);
/// The same of the `index`-th pair.
Gated gated_pair(const AggregateReport& report, std::size_t index);

}  // namespace drift
