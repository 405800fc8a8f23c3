#pragma once

#include <string_view>

namespace drift {

/// What this binary was built from and with; the same in every rank's report, or the run says whose differs.
struct BuildInfo {
  std::string_view version;   ///< "0.1.0"
  std::string_view revision;  ///< git commit, "-dirty" appended if the tree was changed; "unknown" outside a checkout
  std::string_view compiler;  ///< "GNU 12.2.0"
  std::string_view cuda;      ///< nvcc's version, or "none"
  std::string_view mpi;       ///< MPI standard level and library found at configure time
};

const BuildInfo& build_info();

}  // namespace drift
