#pragma once

// What this process was given: arguments, environment, and its place under a launcher. Read here and nowhere
// else.

#include <string>
#include <vector>

#include "audit/launch.hpp"

namespace drift {

struct Process {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  ///< "K=V"
  int rank = 0;  ///< what the launcher calls this process; 0 without one. Only decides who prints.
  bool launched = false;
  Launcher launcher;

  bool speaks() const { return rank == 0; }
};

/// Before anything else: writes to a closed pipe or beyond a size limit fail instead of killing the process,
/// and no file that is opened later can get the number of a standard stream that was closed.
void prepare_streams();

Process this_process(int argc, char** argv, char** environment);

/// Cores (not hardware threads) that this process may use; at least 1.
std::int64_t usable_cores();

}  // namespace drift
