#pragma once

// What of a process's surroundings can change numbers: versions, GPU models, and one allow-list of variables.

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "report/report.hpp"

namespace drift {

/// NCCL_*, CUBLAS_*, VLLM_*, CUDA_* (but CUDA_VISIBLE_DEVICES and CUDA_MPS_*), OMP_NUM_THREADS, and Open
/// MPI's choice of algorithms: OMPI_MCA_ coll, op, pml, btl, mtl and what begins with one of them and "_".
/// Nothing that mpirun exports by itself is among them.
bool can_change_numbers(std::string_view variable);

/// Those of `process_environment` ("K=V" each, as in `environ`). An empty value is a set variable; of a name
/// that comes twice the first counts, as for getenv.
std::map<std::string, std::string> recorded_variables(std::span<const std::string> process_environment);

/// The build's own versions, `more_versions` (name, version; an empty version is left out) and the recorded
/// variables. GPU models and differing ranks are the caller's to fill in.
Environment collect_environment(std::span<const std::string> process_environment,
                                std::span<const std::pair<std::string, std::string>> more_versions);

/// Equal for two ranks whose builds, versions, GPU models and variables are equal (`differing_ranks` is no
/// part of it).
std::string digest_of(const Environment& environment);

}  // namespace drift
