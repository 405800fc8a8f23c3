#pragma once

// The program that this build made, alone and under mpirun.

#include "support/run_command.hpp"

namespace drift::test {

inline Ran drift_audit(std::vector<std::string> arguments, const How& how = {}) {
  arguments.insert(arguments.begin(), DRIFT_BINARY);
  return run_command(arguments, how);
}

inline Ran drift_audit_on(int ranks, std::vector<std::string> arguments, const How& how = {}) {
  arguments.insert(arguments.begin(), DRIFT_BINARY);
  return run_on_ranks(ranks, arguments, how);
}

}  // namespace drift::test
