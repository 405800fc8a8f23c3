#pragma once

// Owners of a CUDA stream and of a CUDA event. A bare cudaStream_t or cudaEvent_t elsewhere is a view that
// owns nothing.

#include <cuda_runtime_api.h>

#include <utility>

#include "backend/check.hpp"

namespace drift {

/// A stream that the legacy default stream does not wait for.
class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking), "creating a stream"); }
  ~Stream() {
    if (handle_ != nullptr) static_cast<void>(cudaStreamDestroy(handle_));
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  cudaStream_t view() const { return handle_; }
  /// Leak it: work that never ends is queued on it, and destroying it would wait for that work.
  void abandon() { handle_ = nullptr; }

 private:
  cudaStream_t handle_ = nullptr;
};

/// An event that threads wait for without spinning, and that keeps no time.
class Event {
 public:
  Event() {
    check(cudaEventCreateWithFlags(&handle_, cudaEventDisableTiming | cudaEventBlockingSync),
          "creating an event");
  }
  ~Event() {
    if (handle_ != nullptr) static_cast<void>(cudaEventDestroy(handle_));
  }
  Event(Event&& other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
  Event& operator=(Event&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  cudaEvent_t view() const { return handle_; }

 private:
  cudaEvent_t handle_ = nullptr;
};

}  // namespace drift
