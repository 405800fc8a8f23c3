#pragma once

// Memory that is handed out again instead of being given back after every chunk: cudaMalloc and cudaFree wait
// for all work on the GPU, also for a copy that should overlap it, and for ever if an NCCL kernel waits for a
// dead peer.

#include <cuda_runtime_api.h>

#include <map>
#include <mutex>

#include "backend/buffer.hpp"
#include "backend/stream.hpp"

namespace drift {

/// Blocks of one kind of memory of one GPU. Safe to use from several threads. Buffers must not outlive it.
///
/// A block that comes back may still be read or written by kernels queued on `kernels`. Its next owner is
/// safe if it uses the block on that stream too; on any other it calls `order` first.
class Heap {
 public:
  enum class Kind { device, pinned };

  Heap(int device, Kind kind, cudaStream_t kernels) : device_(device), kind_(kind), kernels_(kernels) {}
  ~Heap();
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  /// Throws Fault::device, saying how much was asked for and how much is free, when memory runs out.
  Buffer take(std::int64_t bytes);
  /// Make `stream` wait until kernels of the block's previous owner are done with it.
  void order(const std::byte* block, cudaStream_t stream);
  /// Leak everything: freeing would wait for work that never ends.
  void abandon() { abandoned_ = true; }

 private:
  struct Block {
    std::int64_t bytes = 0;
    bool in_use = false;
    bool used_before = false;
    Event released;  ///< on `kernels_`, when the last owner let go
  };

  std::byte* reuse(std::int64_t bytes);
  std::byte* obtain(std::int64_t bytes);
  void trim();
  void release(std::byte* block) noexcept;

  int device_;
  Kind kind_;
  cudaStream_t kernels_;
  bool abandoned_ = false;
  std::mutex mutex_;
  std::map<const std::byte*, Block> blocks_;
};

}  // namespace drift
