#pragma once

// From rows to report: each function fills one part of the aggregate. Runs on rank 0, communicates nothing.

#include "audit/all_rows.hpp"
#include "audit/inputs.hpp"
#include "report/report.hpp"

namespace drift {

ContractReport contract_of(const Case& run, const Inputs& inputs, const std::string& fingerprint,
                           const std::string& transport, const AllRows& rows);
InputReport input_of(const Case& run, const DumpFile& dump, const Inputs& inputs, const KeptRows& kept,
                     const AllRows& rows);
OracleReport oracle_of(const Case& run, const Inputs& inputs, const AllRows& rows,
                       const std::string& backend);

/// What was asked for and what ran.
struct Actual {
  std::string backend, transport;
};
std::vector<CandidateReport> candidates_of(const Case& run, const Inputs& inputs, const AllRows& rows,
                                           const Actual& actual);
std::vector<RecordedReport> recorded_of(const Case& run, const Inputs& inputs, const AllRows& rows);
std::vector<PairReport> pairs_of(const Case& run, const Inputs& inputs, const AllRows& rows);

}  // namespace drift
