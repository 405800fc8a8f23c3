#pragma once

// The TP axis as a group of ranks. CP needs none: its rows are independent, and results travel over the
// world.

#include <memory>

#include "comm/control.hpp"
#include "topology/grid.hpp"

namespace drift {

/// Where this rank stands in the grid, and its TP peers. Collective over `world`, which must outlive it.
struct Axes {
  /// Throws Fault::usage, before anything is sent, unless `world` has tp * cp ranks.
  Axes(Grid grid, Control& world);

  Grid grid;
  Control& world;
  int tp_rank;
  int cp_rank;
  std::unique_ptr<Control> tp;  ///< the ranks of the same cp_rank; its rank is tp_rank
};

/// How many ranks with a smaller number run on this rank's host: 0, 1, ... Collective. Tells which GPU to
/// take.
int local_rank(Control& world);

}  // namespace drift
