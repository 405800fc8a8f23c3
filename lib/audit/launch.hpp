#pragma once

// How a world of ranks is started: the mpirun lines that the tool prints, and the refusal of a wrong world
// size.

#include <cstdint>
#include <string>
#include <vector>

#include "audit/config.hpp"

namespace drift {

/// What a printed mpirun line needs to run where it is printed.
struct Launcher {
  std::string program = "drift-audit";  ///< as typed
  bool root = false;                    ///< the user is root, and no variable allows that
  std::int64_t slots = 1;               ///< ranks that mpirun starts without being asked twice
  bool oversubscribe_set = false;       ///< the environment already allows more
};

/// The flags that mpirun needs for `world` ranks.
std::vector<std::string> launcher_flags(const Launcher& launcher, std::int64_t world);

/// "mpirun -np N FLAGS PROGRAM run DUMP ...", quoted for sh, with every option that was typed but --dry-run.
/// One line: throws Fault::usage for a word with a control character, which no quoting of sh keeps on a line.
std::string launch_line(const Config& config, const Launcher& launcher);

/// Throws Fault::usage with both numbers and the right line unless `world` is tp x cp.
void check_world(const Config& config, std::int64_t world, const Launcher& launcher);

}  // namespace drift
