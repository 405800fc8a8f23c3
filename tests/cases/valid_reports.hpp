#pragma once

// Every report that a case leaves behind must be what its schema says.

#include <string>

namespace drift::test {

/// Why a report in `folder` is not valid, file by file; "" if all are.
std::string invalid_reports(const std::string& folder);

}  // namespace drift::test
