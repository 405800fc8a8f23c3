#pragma once

// Every formula over this rank's shard, chunk by chunk. TP peers go through the same chunks in step.

#include <functional>
#include <vector>

#include "audit/case.hpp"
#include "audit/inputs.hpp"
#include "audit/kept_rows.hpp"
#include "backend/backend.hpp"
#include "comm/collective.hpp"
#include "comm/control.hpp"

namespace drift {

/// fp32 values of some rows, in nats.
struct RowValues {
  std::vector<float> lse, logp;
};

/// Called after each chunk with the number of rows done and the rows in all.
using Progress = std::function<void(std::int64_t done, std::int64_t all)>;

struct CandidatePass {
  std::vector<RowValues>
      values;  ///< one a formula of `run.formulas`; rows as run.rows_of(cp_rank) lists them
  std::vector<std::uint8_t>
      replicated;  ///< one a formula: 1 if all ranks of this TP group hold the same bits
  std::int64_t bytes_read = 0;
};

/// Collective over `tp`. Leaves `replicated` empty.
CandidatePass run_candidates(const Case& run, const DumpFile& dump, const Inputs& inputs,
                             const KeptRows& kept, int cp_rank, Backend& on, Collective& tp,
                             const Progress& progress);

/// Fills `replicated` from a comparison of digests. Collective over `tp`; the same answer on each of its
/// ranks.
void check_replicas(CandidatePass& pass, Control& tp);

/// The same rows, gathered from `values` that have one element a dump row.
template <class T>
std::vector<T> picked(const std::vector<T>& values, const std::vector<Range>& rows) {
  std::vector<T> out;
  out.reserve(static_cast<std::size_t>(count(rows)));
  for (const Range& range : rows)
    out.insert(out.end(), values.begin() + range.begin, values.begin() + range.end);
  return out;
}

}  // namespace drift
