#pragma once

// Every rank's results in global row order on rank 0: what statistics, digests and tokens are made of.

#include <string>
#include <vector>

#include "audit/candidate_pass.hpp"
#include "audit/oracle_pass.hpp"
#include "comm/control.hpp"

namespace drift {

struct AllRows {
  RowValues oracle;                   ///< from the stored bits; left-out rows hold the quiet NaN 0x7fc00000
  RowValues rounded;                  ///< empty without --candidate-dtype
  std::vector<RowValues> candidates;  ///< one a formula
  std::vector<RowCensus> census;
  std::vector<RowSpread> spread;        ///< empty if nobody asked
  std::vector<std::uint8_t> lse_rows;   ///< 1: the row's LSE is compared
  std::vector<std::uint8_t> logp_rows;  ///< 1: the row's log-prob is compared (active and not left out)
  std::string logits_digest;            ///< over the row digests in row order, hex
  Certificate certificate;
  std::vector<bool> replicated;  ///< one a formula: all ranks of each TP group held the same bits
  std::int64_t bytes_read = 0;

  const RowValues& reference() const { return rounded.lse.empty() ? oracle : rounded; }
};

/// Collective over `world`; filled on rank 0 only. Without logits: which rows are compared, nothing else.
AllRows gather_rows(const Case& run, const Inputs& inputs, Control& world, const CandidatePass& candidates,
                    const OraclePass& oracle);

/// Columns of this rank's rows (as run.rows_of lists them) in global row order on rank 0, empty elsewhere;
/// the ranks of TP rank 0 speak for their groups. Collective over `world`.
std::vector<std::vector<float>> gather_columns(const Case& run, Control& world,
                                               const std::vector<std::vector<float>>& columns);

/// Left-out values (use[r] == 0) become one and the same quiet NaN 0x7fc00000, whatever each kernel made of
/// the row.
void clear_left_out(RowValues& values, const std::vector<std::uint8_t>& lse_rows,
                    const std::vector<std::uint8_t>& logp_rows);

/// Digest of fp32 bits in row order: all rows' LSE, active rows' log-prob.
std::string digest_of_lse(const RowValues& values);
std::string digest_of_logp(const RowValues& values, const std::vector<std::uint8_t>& active);

}  // namespace drift
