#pragma once

// The TP x CP grid: integers only.

#include <string>

namespace drift {

/// Ranks laid out so that `cp_rank, tp_rank = divmod(rank, tp)`: TP peers are neighbours.
struct Grid {
  int tp = 1;
  int cp = 1;

  constexpr int world() const { return tp * cp; }
  constexpr int tp_rank(int rank) const { return rank % tp; }
  constexpr int cp_rank(int rank) const { return rank / tp; }
  constexpr int rank(int tp_rank, int cp_rank) const { return cp_rank * tp + tp_rank; }
  friend constexpr bool operator==(const Grid&, const Grid&) = default;
};

}  // namespace drift
