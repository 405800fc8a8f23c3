#pragma once

// The questions about GPUs that the composition root asks. One header, answered by one of several sets of
// files that CMake picks: with CUDA and NCCL, with CUDA alone, without either. Nobody else has to know which.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "comm/collective.hpp"
#include "comm/control.hpp"

namespace drift {

struct GpuInfo {
  int index = 0;                 ///< among the GPUs this process sees (CUDA_VISIBLE_DEVICES)
  std::string name;              ///< e.g. "NVIDIA H200"
  std::string uuid;              ///< "GPU-" and the UUID as nvidia-smi prints it: the same in every process
  std::int64_t total_bytes = 0;  ///< memory of the whole GPU
};

/// The GPUs this process can use, by index. Empty without CUDA, without a driver or without a GPU; never
/// throws.
std::vector<GpuInfo> visible_gpus() noexcept;
/// One sentence that says why `visible_gpus` is empty; "" if it is not.
std::string why_no_gpu();
/// Throws Fault::device with `why_no_gpu`, or if the GPU cannot be used.
/// Buffers must not outlive the backend that they came from.
std::unique_ptr<Backend> make_cuda_backend(int index);

/// True if this build contains the nccl transport.
bool nccl_built();
/// The loaded library's version, e.g. "2.28.3"; "none" if NCCL was not built in.
std::string nccl_version();
/// Collective over the group `tp`, whose ranks all call this. `on` is a CUDA backend. Each wait ends after
/// `timeout_seconds` (Fault::timeout), when `tp.poll()` throws, or when NCCL reports an error (Fault::comm).
std::unique_ptr<Collective> make_nccl_collective(Backend& on, Control& tp, double timeout_seconds);

}  // namespace drift
