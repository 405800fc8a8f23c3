#pragma once

// Collective over NCCL: device memory to device memory, on the stream that the backend's kernels use.

#include <nccl.h>

#include "backend/cuda_backend.hpp"
#include "comm/collective.hpp"

namespace drift {

/// The communicator is non-blocking, and no call waits inside NCCL or CUDA: a peer that dies leaves a kernel
/// that spins for ever, and whoever waits for it with cudaStreamSynchronize waits with it. Instead every call
/// polls until its deadline.
class NcclCollective final : public Collective {
 public:
  NcclCollective(CudaBackend& on, Control& tp, double timeout_seconds);
  ~NcclCollective() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string_view transport() const override { return "nccl"; }
  void all_gather(const void* mine, void* all, std::int64_t bytes) override;
  void all_reduce(float* values, std::int64_t count, Reduce op) override;

 private:
  void connect();
  void wait_for_comm(const char* doing, double seconds);
  void wait_for_stream(const char* doing);
  bool close() noexcept;

  CudaBackend& on_;
  Control& tp_;
  double timeout_seconds_;
  int rank_, size_;
  int exceptions_at_birth_;
  bool broken_ = false;
  ncclComm_t comm_ = nullptr;
};

}  // namespace drift
