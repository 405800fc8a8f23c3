#pragma once

// Backend on one GPU: kernels and their copies on one stream, chunks of logits on another.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "backend/heap.hpp"
#include "backend/stream.hpp"

namespace drift {

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(int device);
  ~CudaBackend() override;

  int device() const { return device_; }
  /// Where kernels are queued; collectives on device memory go there too.
  cudaStream_t stream() const { return kernels_.view(); }

  std::string name() const override { return "cuda"; }
  std::string device_model() const override { return model_; }
  std::string device_uuid() const override { return uuid_; }
  bool host_memory() const override { return false; }

  Buffer allocate(std::int64_t bytes) override { return device_heap_.take(bytes); }
  Buffer allocate_host(std::int64_t bytes) override { return pinned_heap_.take(bytes); }
  const std::byte* make_resident(const Buffer& host, std::int64_t bytes, Buffer& device) override;
  void upload(const void* host, void* device, std::int64_t bytes) override;
  void download(const void* device, void* host, std::int64_t bytes) override;
  void copy(const void* from, void* to, std::int64_t bytes) override;
  void* native_stream() override { return stream(); }

  void row_max(const LogitsView& logits, float* out) override;
  void row_sum_exp(const LogitsView& logits, const float* shift, float* out) override;
  void row_target(const LogitsView& logits, const std::int64_t* targets, float* out) override;
  void row_log_prob(const float* max, const float* sum, const float* target, const std::int64_t* targets,
                    std::int64_t rows, RowResult out) override;
  void pack_values(const LogitsView& logits, std::int64_t pitch, float* out) override;
  void assemble_rows(const float* gathered, std::span<const std::int64_t> bounds, std::int64_t rows,
                     std::int64_t pitch, std::int64_t vocab, float* out) override;
  void torch_log_softmax(const float* values, std::int64_t rows, std::int64_t vocab,
                         const std::int64_t* row_index, const std::int64_t* targets, RowResult out) override;
  void row_census(const LogitsView& logits, const std::int64_t* targets, RowCensus* out) override;
  void row_moments(const LogitsView& logits, RowMoments* out) override;
  void tree_sum(const LogitsView& logits, const TreePlan& plan, std::int64_t slots, TreeValue* out) override;
  void tree_finish(const std::byte* blocks, const TreeMerge& merge, const std::int64_t* targets,
                   std::int64_t rows, RowResult out) override;

 private:
  struct Constant {
    std::vector<std::byte> content;
    Buffer device;
  };

  /// Device copy of small host data, kept by content: the same plan serves every chunk.
  const std::byte* constant(std::span<const std::byte> content);
  template <class T>
  const T* constant(const std::vector<T>& values) {
    return reinterpret_cast<const T*>(constant(std::as_bytes(std::span(values))));
  }

  int device_;
  std::string model_, uuid_;
  Stream kernels_, copies_;
  Heap device_heap_, pinned_heap_;
  std::vector<Constant> constants_;
};

}  // namespace drift
