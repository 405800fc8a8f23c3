#pragma once

// The rows of one sequence that a CP rank holds, in the order it holds them. Private to lib/explain.

#include <cstdint>
#include <vector>

#include "topology/shard.hpp"

namespace drift {

inline std::vector<std::int64_t> rows_of_rank(Range sequence, int cp, int rank, CpLayout layout) {
  std::vector<Range> parts;
  if (layout == CpLayout::contiguous)
    parts = {even_part(sequence.size(), cp, rank)};
  else
    parts = {even_part(sequence.size(), 2 * cp, rank), even_part(sequence.size(), 2 * cp, 2 * cp - 1 - rank)};
  std::vector<std::int64_t> rows;
  for (const Range& part : parts)
    for (std::int64_t row = part.begin; row < part.end; ++row) rows.push_back(sequence.begin + row);
  return rows;
}

}  // namespace drift
