#include "backend/cuda_backend.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "backend/gpu_info.hpp"
#include "backend/tree_work.hpp"
#include "kernels/launch.hpp"

namespace drift {
namespace {

int selected(int device) {
  check(cudaSetDevice(device), "selecting it");
  return device;
}

// False if what is queued does not end: an NCCL kernel whose peer is gone.
bool ends_soon(cudaStream_t stream) {
  using clock = std::chrono::steady_clock;
  const auto deadline = clock::now() + std::chrono::seconds(2);
  while (cudaStreamQuery(stream) == cudaErrorNotReady) {
    if (clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace

CudaBackend::CudaBackend(int device)
    : device_(selected(device)),
      device_heap_(device, Heap::Kind::device, kernels_.view()),
      pinned_heap_(device, Heap::Kind::pinned, kernels_.view()) {
  const GpuInfo info = gpu_info(device);
  model_ = info.name;
  uuid_ = info.uuid;
}

CudaBackend::~CudaBackend() {
  static_cast<void>(cudaSetDevice(device_));
  if (ends_soon(kernels_.view())) return;
  kernels_.abandon();
  copies_.abandon();
  device_heap_.abandon();
  pinned_heap_.abandon();
}

const std::byte* CudaBackend::make_resident(const Buffer& host, std::int64_t bytes, Buffer& device) {
  require(bytes <= host.bytes() && bytes <= device.bytes(), Fault::internal,
          "a chunk of " + std::to_string(bytes) + " bytes does not fit its buffers, seen " +
              std::to_string(host.bytes()) + " in host memory and " + std::to_string(device.bytes()) +
              " on the GPU");
  check(cudaSetDevice(device_), "selecting it");  // the reader thread has a current device of its own
  if (bytes == 0) return device.data();
  device_heap_.order(device.data(), copies_.view());
  check(cudaMemcpyAsync(device.data(), host.data(), static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice,
                        copies_.view()),
        "copying logits to it");
  const Event done;
  check(cudaEventRecord(done.view(), copies_.view()), "copying logits to it");
  check(cudaEventSynchronize(done.view()), "copying logits to it");
  return device.data();
}

void CudaBackend::upload(const void* host, void* device, std::int64_t bytes) {
  if (bytes == 0) return;
  check(cudaMemcpyAsync(device, host, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice, stream()),
        "copying to it");
  check(cudaStreamSynchronize(stream()), "copying to it");
}

void CudaBackend::download(const void* device, void* host, std::int64_t bytes) {
  if (bytes == 0) return;
  check(cudaMemcpyAsync(host, device, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost, stream()),
        "copying results from it");
  check(cudaStreamSynchronize(stream()), "computing, or copying results from it");
}

void CudaBackend::copy(const void* from, void* to, std::int64_t bytes) {
  if (bytes == 0 || from == to) return;
  check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice, stream()),
        "copying within its memory");
}

const std::byte* CudaBackend::constant(std::span<const std::byte> content) {
  constexpr std::size_t kept = 16;  // plan and merge of a few formulas, whole and last chunk
  if (content.empty()) return nullptr;
  const auto same = [&](const Constant& c) {
    return c.content.size() == content.size() &&
           std::memcmp(c.content.data(), content.data(), content.size()) == 0;
  };
  const auto found = std::find_if(constants_.begin(), constants_.end(), same);
  if (found != constants_.end()) {
    std::rotate(found, found + 1, constants_.end());  // the one used longest ago is dropped first
    return constants_.back().device.data();
  }
  if (constants_.size() == kept) constants_.erase(constants_.begin());
  Constant fresh{{content.begin(), content.end()}, allocate(static_cast<std::int64_t>(content.size()))};
  upload(fresh.content.data(), fresh.device.data(), static_cast<std::int64_t>(content.size()));
  constants_.push_back(std::move(fresh));
  return constants_.back().device.data();
}

void CudaBackend::row_max(const LogitsView& logits, float* out) {
  cuda::row_max(logits, out, stream());
  check(cudaGetLastError(), "starting row_max");
}

void CudaBackend::row_sum_exp(const LogitsView& logits, const float* shift, float* out) {
  cuda::row_sum_exp(logits, shift, out, stream());
  check(cudaGetLastError(), "starting row_sum_exp");
}

void CudaBackend::row_target(const LogitsView& logits, const std::int64_t* targets, float* out) {
  cuda::row_target(logits, targets, out, stream());
  check(cudaGetLastError(), "starting row_target");
}

void CudaBackend::row_log_prob(const float* max, const float* sum, const float* target,
                               const std::int64_t* targets, std::int64_t rows, RowResult out) {
  cuda::row_log_prob(max, sum, target, targets, rows, out, stream());
  check(cudaGetLastError(), "starting row_log_prob");
}

void CudaBackend::pack_values(const LogitsView& logits, std::int64_t pitch, float* out) {
  cuda::pack_values(logits, pitch, out, stream());
  check(cudaGetLastError(), "starting pack_values");
}

void CudaBackend::assemble_rows(const float* gathered, std::span<const std::int64_t> bounds,
                                std::int64_t rows, std::int64_t pitch, std::int64_t vocab, float* out) {
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
    const std::int64_t columns = std::min(bounds[i + 1], vocab) - bounds[i];
    if (columns <= 0 || rows == 0) continue;
    check(cudaMemcpy2DAsync(out + bounds[i], static_cast<std::size_t>(vocab) * 4,
                            gathered + static_cast<std::int64_t>(i) * rows * pitch,
                            static_cast<std::size_t>(pitch) * 4, static_cast<std::size_t>(columns) * 4,
                            static_cast<std::size_t>(rows), cudaMemcpyDeviceToDevice, stream()),
          "assembling whole rows");
  }
}

void CudaBackend::torch_log_softmax(const float* values, std::int64_t rows, std::int64_t vocab,
                                    const std::int64_t* row_index, const std::int64_t* targets,
                                    RowResult out) {
  cuda::torch_log_softmax(values, rows, vocab, row_index, targets, out, stream());
  check(cudaGetLastError(), "starting torch_log_softmax");
}

void CudaBackend::row_census(const LogitsView& logits, const std::int64_t* targets, RowCensus* out) {
  cuda::row_census(logits, targets, out, stream());
  check(cudaGetLastError(), "starting row_census");
}

void CudaBackend::row_moments(const LogitsView& logits, RowMoments* out) {
  cuda::row_moments(logits, out, stream());
  check(cudaGetLastError(), "starting row_moments");
}

void CudaBackend::tree_sum(const LogitsView& logits, const TreePlan& plan, std::int64_t slots,
                           TreeValue* out) {
  HostTreeWork host = tree_work(logits, plan);
  require(host.work.fold_count <= slots, Fault::internal,
          "a rank has more subtrees than its block has slots, seen " + std::to_string(host.work.fold_count) +
              ", wanted at most " + std::to_string(slots));
  host.work.edges = constant(host.edges);
  host.work.folds = constant(host.folds);
  Buffer scratch = allocate(std::max<std::int64_t>(1, logits.rows * host.work.tiles) * 8);
  cuda::tree_sum(logits, host.work, slots, scratch.as<TreeValue>(), out, stream());
  check(cudaGetLastError(), "starting tree_sum");
}

void CudaBackend::tree_finish(const std::byte* blocks, const TreeMerge& merge, const std::int64_t* targets,
                              std::int64_t rows, RowResult out) {
  const cuda::MergeWork work{.sources = constant(merge.sources),
                             .source_count = static_cast<std::int64_t>(merge.sources.size()),
                             .bounds = constant(merge.bounds),
                             .tp = static_cast<std::int64_t>(merge.bounds.size()) - 1,
                             .slots = merge.slots,
                             .block_bytes = merge.block_bytes(rows)};
  cuda::tree_finish(blocks, work, targets, rows, out, stream());
  check(cudaGetLastError(), "starting tree_finish");
}

}  // namespace drift
