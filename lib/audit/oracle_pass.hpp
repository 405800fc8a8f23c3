#pragma once

// The oracle over this rank's share of whole rows, its referee, and the census of what is not a number. The
// ranks of a TP group share the group's rows out; nothing here communicates.

#include <optional>
#include <vector>

#include "audit/candidate_pass.hpp"
#include "base/digest.hpp"
#include "kernels/row_census.hpp"
#include "kernels/row_moments.hpp"

namespace drift {

/// The worst errors the referee saw, as fractions of the oracle's bound.
struct Certificate {
  std::int64_t rows = 0;
  double lse_worst = 0, logp_worst = 0;
};

struct OraclePass {
  std::vector<Range> rows;           ///< whose results these are
  RowValues stored;                  ///< from the stored bits
  std::optional<RowValues> rounded;  ///< from the values rounded to --candidate-dtype
  std::vector<RowCensus> census;     ///< of all views in play together: oracle's and candidates'
  std::vector<RowSpread>
      spread;  ///< entropy, sum p^2, noise of the log-prob, on stored bits; empty if nobody asks
  std::vector<Digest> row_digests;  ///< of each row's stored bytes, padded columns included
  Certificate certificate;
  std::int64_t bytes_read = 0;
};

/// The rows whose oracle is this rank's.
std::vector<Range> oracle_rows(const Case& run, int cp_rank, int tp_rank);

/// The oracle's own way from stored bits to values: fp32 division, no rounding.
ValueRule oracle_rule(const Case& run);

/// Whether rows' distributions are looked at: for the noise of recorded log-probs, or --row-stats.
bool wants_spread(const Case& run);

OraclePass run_oracle(const Case& run, const DumpFile& dump, const Inputs& inputs, const KeptRows& kept,
                      int cp_rank, int tp_rank, Backend& on, const Progress& progress);

}  // namespace drift
