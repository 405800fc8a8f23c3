#pragma once

// What is said before anything is computed: who owns what (`run --dry-run`), and the topologies worth running
// (`plan`).

#include <cstdint>
#include <string>
#include <vector>

#include "audit/case.hpp"
#include "audit/launch.hpp"

namespace drift {

/// Rows, columns, bytes read and memory of every rank, one line each, under a few '#' lines.
std::vector<std::string> dry_run_text(const Case& run);

/// The degrees that `plan` goes through.
struct PlanDegrees {
  std::vector<std::int64_t> tp{1}, cp{1};
};

struct Plan {
  std::vector<std::string>
      lines;          ///< one mpirun line a topology; a '#' line where one cannot run, saying why
  int exit_code = 0;  ///< of the first refusal if no topology can run
};

/// --out DIR becomes DIR/tp<N>-cp<M>, so that no run replaces another's reports.
Plan plan_text(const Config& config, const PlanDegrees& degrees, const DumpFile& dump,
               const Launcher& launcher);

/// "cpu" or "cuda": what the resolver is told where nothing is run.
std::string assumed_backend(const Config& config);

}  // namespace drift
