#include "backend/heap.hpp"

#include <algorithm>

namespace drift {
namespace {

// Close enough to reuse: a chunk's last, shorter round fits in the blocks of the full ones, but a few row
// results do not occupy a block made for logits.
bool fits(std::int64_t block, std::int64_t wanted) {
  return block >= wanted && (block <= 65536 || block - wanted <= wanted / 2);
}

std::byte* raw_allocate(Heap::Kind kind, std::int64_t bytes) {
  void* data = nullptr;
  const cudaError_t status =
      kind == Heap::Kind::device
          ? cudaMalloc(&data, static_cast<std::size_t>(bytes))
          : cudaHostAlloc(&data, static_cast<std::size_t>(bytes), cudaHostAllocPortable);
  if (status == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());  // not sticky: memory may be freed and asked for again
    return nullptr;
  }
  check(status, kind == Heap::Kind::device ? "allocating its memory" : "allocating pinned host memory");
  return static_cast<std::byte*>(data);
}

void raw_free(Heap::Kind kind, const std::byte* block) noexcept {
  void* data = const_cast<std::byte*>(block);
  static_cast<void>(kind == Heap::Kind::device ? cudaFree(data) : cudaFreeHost(data));
}

[[noreturn]] void out_of_memory(Heap::Kind kind, std::int64_t bytes) {
  std::size_t free = 0, total = 0;
  static_cast<void>(cudaMemGetInfo(&free, &total));
  if (kind == Heap::Kind::pinned)
    throw Error(Fault::device,
                "out of pinned host memory (chunks of logits are read into it; fewer --rows-per-chunk need "
                "less), asked for " +
                    std::to_string(bytes) + " bytes");
  throw Error(Fault::device,
              "out of GPU memory (two chunks of logits and the formulas' buffers must fit; fewer "
              "--rows-per-chunk need less), asked for " +
                  std::to_string(bytes) + " bytes, free " + std::to_string(free) + " of " +
                  std::to_string(total));
}

}  // namespace

Heap::~Heap() {
  if (abandoned_) return;
  static_cast<void>(cudaSetDevice(device_));
  for (const auto& [data, block] : blocks_) raw_free(kind_, data);
}

Buffer Heap::take(std::int64_t bytes) {
  require(bytes >= 0, Fault::internal, "a buffer of " + std::to_string(bytes) + " bytes was asked for");
  const std::lock_guard lock(mutex_);
  check(cudaSetDevice(device_), "selecting it");
  std::byte* data = reuse(bytes);
  if (data == nullptr) data = obtain(bytes);
  return Buffer(data, bytes, [this](std::byte* block) { release(block); });
}

std::byte* Heap::reuse(std::int64_t bytes) {
  const std::byte* best = nullptr;
  std::int64_t best_bytes = 0;
  for (const auto& [data, block] : blocks_)
    if (!block.in_use && fits(block.bytes, bytes) && (best == nullptr || block.bytes < best_bytes)) {
      best = data;
      best_bytes = block.bytes;
    }
  if (best == nullptr) return nullptr;
  blocks_.at(best).in_use = true;
  return const_cast<std::byte*>(best);
}

std::byte* Heap::obtain(std::int64_t bytes) {
  const std::int64_t rounded = (std::max<std::int64_t>(bytes, 1) + 511) / 512 * 512;
  Block block;
  block.bytes = rounded;
  block.in_use = true;
  std::byte* data = raw_allocate(kind_, rounded);
  if (data == nullptr) {  // blocks that nobody uses may be all that is in the way
    trim();
    data = raw_allocate(kind_, rounded);
  }
  if (data == nullptr) out_of_memory(kind_, bytes);
  blocks_.emplace(data, std::move(block));
  return data;
}

void Heap::trim() {
  for (auto at = blocks_.begin(); at != blocks_.end();) {
    if (at->second.in_use) {
      ++at;
    } else {
      raw_free(kind_, at->first);
      at = blocks_.erase(at);
    }
  }
}

void Heap::release(std::byte* data) noexcept {
  const std::lock_guard lock(mutex_);
  const auto at = blocks_.find(data);
  if (at == blocks_.end()) return;
  at->second.in_use = false;
  at->second.used_before = true;
  // A failure here is a failed GPU: the next call that can report says so.
  static_cast<void>(cudaSetDevice(device_));
  static_cast<void>(cudaEventRecord(at->second.released.view(), kernels_));
}

void Heap::order(const std::byte* data, cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  const auto at = blocks_.find(data);
  if (at == blocks_.end() || !at->second.used_before) return;
  check(cudaStreamWaitEvent(stream, at->second.released.view(), 0), "ordering a copy after kernels");
}

}  // namespace drift
