#pragma once

// The composition root: what `lib` must not know - GPUs, NCCL, the environment, the clock - handed to the
// audit.

#include "audit/audit.hpp"
#include "drift-audit/console.hpp"
#include "drift-audit/process.hpp"

namespace drift {

/// `console` must outlive what is returned.
Machinery make_machinery(const Config& config, const Process& process, const Console& console);

}  // namespace drift
