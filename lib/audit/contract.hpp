#pragma once

// Before the first tensor moves, every rank must be running the same audit of the same bytes with the same
// build.

#include <string>
#include <vector>

#include "audit/case.hpp"
#include "comm/control.hpp"
#include "report/report.hpp"

namespace drift {

/// Digest of what all ranks must agree on: options, vocabulary, shards, rows.
std::string contract_fingerprint(const Case& run);

/// On a rank that differs from rank 0: throws Fault::input if it opened another dump, Fault::comm if it runs
/// another build or another case. Returns the ranks whose environment differs from rank 0's. Collective.
std::vector<int> compare_contracts(const Case& run, const DumpFile& dump, const Environment& environment,
                                   Control& world);

}  // namespace drift
