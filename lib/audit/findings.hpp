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
/// One line a recorded log-prob tensor with values of exactly 0 where the oracle - without logits, the other
/// side of a pair - says that the token was not certain.
std::vector<std::string> zero_warnings(const Case& run, const Inputs& inputs, const AllRows& rows);
std::vector<PairReport> pairs_of(const Case& run, const Inputs& inputs, const AllRows& rows);

}  // namespace drift
