#pragma once

// The product: load, compute, referee, compare, report.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "audit/config.hpp"
#include "comm/collective.hpp"
#include "comm/control.hpp"
#include "report/report.hpp"

namespace drift {

/// What the composition root hands to the audit: the ways to hardware, which `lib` does not know.
struct Machinery {
  std::function<int()> gpu_count;                                ///< GPUs that this process sees
  std::function<std::string()> why_no_gpu;                       ///< one sentence
  std::function<std::unique_ptr<Backend>(int index)> make_cuda;  ///< on GPU `index`
  bool nccl_built = false;
  std::function<std::unique_ptr<Collective>(Backend&, Control& tp)>
      make_nccl;                                              ///< throws Fault::device if not built
  std::vector<std::string> environment;                       ///< "K=V" of this process
  std::vector<std::pair<std::string, std::string>> versions;  ///< mpi, nccl, driver: name, version
  std::string program;                                        ///< argv[0] as typed
  std::vector<std::string> argv;                              ///< whole command line, for run.json
  std::string host;                                           ///< this rank's, for run.json
  std::function<std::string()> now;                           ///< UTC, ISO 8601
  std::vector<std::string> launcher_flags;                    ///< that mpirun needs where this ran
  std::function<void(const std::string& line)> say;           ///< rank 0's table, stdout
  std::function<void(const std::string& line)> progress;      ///< a plain line, stderr
  std::function<void(const std::string& line)> warn;          ///< a warning, stderr; only rank 0's is seen
  std::function<void(const std::string& line)> alert;  ///< what must be seen whichever rank says it, stderr
};

/// Run the whole audit on this rank of `world`. Returns the exit status, the same on every rank, after the
/// reports are durable. Throws nothing: what went wrong is in the report and in `error`.
struct Outcome {
  int exit_code = 8;
  std::optional<ErrorReport> error;
  bool peers_lost = false;  ///< the last agreement itself failed: leave by aborting the job
};
Outcome audit(const Config& config, Control& world, const Machinery& machinery);

}  // namespace drift
