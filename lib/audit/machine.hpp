#pragma once

// Which hardware and which transport a run uses: decided by all ranks together, said aloud, never a silent
// fallback.

#include <memory>
#include <string>

#include "audit/audit.hpp"
#include "base/digest.hpp"
#include "comm/axes.hpp"

namespace drift {

/// "cpu" or "cuda". auto: cuda if every rank sees a GPU, cpu if none does. Collective.
/// Throws Fault::device if only some ranks see one, or cuda was asked for and some see none.
std::string choose_backend(const std::string& requested, const Machinery& machinery, Control& world);

/// This rank's backend; ranks of one host take its GPUs in turn. Collective.
std::unique_ptr<Backend> make_backend(const std::string& chosen, const Machinery& machinery, Control& world);

/// "solo", "mpi" or "nccl". auto: solo if tp is 1; nccl if every rank has a GPU of its own; else mpi.
/// Collective. Throws Fault::usage for nccl without GPUs, Fault::device for nccl with fewer GPUs than ranks.
std::string choose_transport(const std::string& requested, const Backend& on, const Machinery& machinery,
                             const Grid& grid, Control& world);

std::unique_ptr<Collective> make_collective(const std::string& chosen, Backend& on, Control& tp,
                                            const Machinery& machinery);

}  // namespace drift
