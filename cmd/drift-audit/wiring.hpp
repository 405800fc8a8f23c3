#pragma once

// The composition root: what `lib` must not know - GPUs, NCCL, the environment, the clock - handed to the
// audit.

#include <string>

#include "audit/audit.hpp"
#include "drift-audit/console.hpp"
#include "drift-audit/process.hpp"

namespace drift {

/// `mpi_library` is "" in a world of one. `console` must outlive what is returned.
Machinery make_machinery(const Config& config, const Process& process, const Console& console,
                         const std::string& mpi_library);

}  // namespace drift
