#pragma once

// Where drift sits: the same rows sorted into bins by one property at a time. A template or boundary fault
// shows in one bin, numerics in all.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/range.hpp"

namespace drift {

struct Stratum {
  std::string name;  ///< the bin, as people read it: "0.1..1", "4..7", "tp 2"
  std::int64_t count = 0, mismatch_count = 0;
  double mean = 0, mean_abs = 0, rms = 0, max_abs = 0;  ///< of d = candidate - reference, nats
};

struct Strata {
  std::string by;  ///< logp | position | mask_edge | sequence_edge | segment | owner_tp_rank | cp_chunk
  std::vector<Stratum> strata;  ///< ascending; bins without rows are absent
};

struct StrataInput {
  std::span<const float> candidate, reference;  ///< [rows]
  std::span<const std::uint8_t> use;  ///< rows to compare; those with a value that is not finite are left out
  std::span<const std::uint8_t>
      active;                           ///< the mask: segments (turns) are its runs of ones within a sequence
  std::span<const Range> sequences;     ///< cover all rows
  std::span<const std::int32_t> owner;  ///< TP rank that owns the target, -1: none; empty: no such table
  std::span<const std::int32_t>
      cp_chunk;  ///< chunk of the row in its sequence's CP layout; empty: no such table
};

/// One pass over the rows. By
///  - logp: |reference|; a bin a..b holds (a, b], the first one 0 too
///  - position: rows since the sequence began; 0, 1, 2..3, 4..7, ...
///  - mask_edge, sequence_edge: rows to the nearer end of the row's active run or of its sequence, binned
///  likewise
///  - segment: number of the row's active run within its sequence, from 0; the 17th and all later ones share
///  a bin
/// Rows to compare that are not active count in neither mask_edge nor segment. Throws Fault::internal if
/// lengths differ or the sequences do not cover the rows.
std::vector<Strata> strata_of(const StrataInput& input);

}  // namespace drift
