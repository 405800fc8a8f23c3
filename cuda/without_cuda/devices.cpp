// The answers of a build without CUDA. This folder needs no CUDA header.

#include "backend/devices.hpp"

#include "base/error.hpp"

namespace drift {

std::vector<GpuInfo> visible_gpus() noexcept { return {}; }

std::string why_no_gpu() {
  return "this build has no CUDA (configure found no usable nvcc, or DRIFT_CUDA=OFF)";
}

std::unique_ptr<Backend> make_cuda_backend(int) { throw Error(Fault::device, why_no_gpu()); }

bool nccl_built() { return false; }

std::string nccl_version() { return "none"; }

std::unique_ptr<Collective> make_nccl_collective(Backend&, Control&, double) {
  throw Error(Fault::device,
              "this build has no NCCL, because it has no CUDA; --transport mpi exchanges through the host");
}

}  // namespace drift
