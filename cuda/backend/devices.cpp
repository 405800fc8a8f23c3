// The answers of a build with CUDA.

#include "backend/devices.hpp"

#include "backend/check.hpp"
#include "backend/cuda_backend.hpp"
#include "backend/gpu_info.hpp"

namespace drift {
namespace {

// As nvidia-smi prints it: GPU-8-4-4-4-12.
std::string uuid_text(const cudaUUID_t& uuid) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    const auto byte = static_cast<unsigned char>(uuid.bytes[i]);
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

// A failed question leaves its error behind for the next launch to trip over: it is taken away here.
cudaError_t count_gpus(int& count) noexcept {
  count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  static_cast<void>(cudaGetLastError());
  if (status != cudaSuccess) count = 0;
  return status;
}

}  // namespace

GpuInfo gpu_info(int index) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "asking for its properties");
  return {index, properties.name, uuid_text(properties.uuid),
          static_cast<std::int64_t>(properties.totalGlobalMem)};
}

std::vector<GpuInfo> visible_gpus() noexcept {
  try {
    int count = 0;
    static_cast<void>(count_gpus(count));
    std::vector<GpuInfo> out;
    for (int i = 0; i < count; ++i) out.push_back(gpu_info(i));
    return out;
  } catch (...) {  // a GPU that cannot be asked cannot be used
    static_cast<void>(cudaGetLastError());
    return {};
  }
}

std::string why_no_gpu() {
  int count = 0;
  const cudaError_t status = count_gpus(count);
  if (status != cudaSuccess)
    return std::string("this process sees no GPU: ") + cudaGetErrorName(status) + " (" +
           cudaGetErrorString(status) + ")";
  if (count == 0)
    return "this process sees no GPU: the driver lists none (CUDA_VISIBLE_DEVICES may hide them)";
  return visible_gpus().empty() ? "this process sees a GPU but cannot ask it for its name" : "";
}

std::unique_ptr<Backend> make_cuda_backend(int index) {
  int count = 0;
  static_cast<void>(count_gpus(count));
  require(count > 0, Fault::device, why_no_gpu());
  require(index >= 0 && index < count, Fault::device,
          "there is no such GPU (ranks need one each, or share one), seen index " + std::to_string(index) +
              ", wanted below " + std::to_string(count));
  return std::make_unique<CudaBackend>(index);
}

}  // namespace drift
