#include "comm/axes.hpp"

#include <array>
#include <string>
#include <vector>

#include <unistd.h>

#include "base/error.hpp"

namespace drift {
namespace {

Grid of_world(Grid grid, const Control& world) {
  const std::int64_t wanted = std::int64_t{grid.tp} * grid.cp;
  require(grid.tp >= 1 && grid.cp >= 1 && wanted == world.size(), Fault::usage,
          "the number of ranks is not tp * cp (every rank owns one place of the grid), seen " +
              std::to_string(world.size()) + " rank(s), wanted --tp " + std::to_string(grid.tp) + " * --cp " +
              std::to_string(grid.cp) + " = " + std::to_string(wanted));
  return grid;
}

}  // namespace

Axes::Axes(Grid of, Control& ranks)
    : grid(of_world(of, ranks)),
      world(ranks),
      tp_rank(grid.tp_rank(ranks.rank())),
      cp_rank(grid.cp_rank(ranks.rank())),
      tp(ranks.split(cp_rank, tp_rank)) {}

int local_rank(Control& world) {
  using Host = std::array<char, 256>;
  Host mine{};
  gethostname(mine.data(), mine.size() - 1);  // on failure all stay empty, and count as one host
  std::vector<Host> all(static_cast<std::size_t>(world.size()));
  world.all_gather(&mine, all.data(), sizeof(Host));
  int before = 0;
  for (int rank = 0; rank < world.rank(); ++rank) before += all[static_cast<std::size_t>(rank)] == mine;
  return before;
}

}  // namespace drift
