#pragma once

// The pure interface between formulas and hardware: memory, and the kernel vocabulary. A kernel that exists on one
// backend only does not compile. What each kernel computes stands in lib/kernels/<kernel>.hpp, for every backend.

#include <cstdint>
#include <span>
#include <string>

#include "backend/buffer.hpp"
#include "kernels/row_census.hpp"
#include "kernels/row_moments.hpp"
#include "kernels/tree_sum.hpp"
#include "kernels/views.hpp"

namespace drift {

class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string name() const = 0;          ///< "cpu" or "cuda"
  virtual std::string device_model() const = 0;  ///< e.g. "NVIDIA H200"; the CPU's model name
  virtual std::string device_uuid() const = 0;   ///< distinguishes GPUs across processes; "" on the CPU

  virtual bool host_memory() const = 0;          ///< kernels read and write host memory: no staging needed

  // Memory. `allocate` is where kernels read and write; `allocate_host` is what files are read into (pinned on a GPU).
  // Both throw Fault::device when memory runs out, saying how much was asked for.
  virtual Buffer allocate(std::int64_t bytes) = 0;
  virtual Buffer allocate_host(std::int64_t bytes) = 0;

  /// Make host[0, bytes) readable by kernels and return where it is: `device` after a copy, or `host` itself where
  /// kernels read host memory. Returns when the copy is done. May be called from another thread than the kernels'.
  virtual const std::byte* make_resident(const Buffer& host, std::int64_t bytes, Buffer& device) = 0;

  /// Copies ordered with kernels; both return when the host side may be reused.
  virtual void upload(const void* host, void* device, std::int64_t bytes) = 0;
  virtual void download(const void* device, void* host, std::int64_t bytes) = 0;
  /// Within the backend's own memory, ordered with kernels; the ranges do not overlap, or are the same.
  virtual void copy(const void* from, void* to, std::int64_t bytes) = 0;

  /// The queue that kernels and copies are ordered on (a cudaStream_t); nullptr where there is none.
  virtual void* native_stream() { return nullptr; }

  // Kernels: ordered after one another; results are visible to `download`. Failures throw Fault::device.
  virtual void row_max(const LogitsView& logits, float* out) = 0;
  virtual void row_sum_exp(const LogitsView& logits, const float* shift, float* out) = 0;
  virtual void row_target(const LogitsView& logits, const std::int64_t* targets, float* out) = 0;
  virtual void row_log_prob(const float* max, const float* sum, const float* target, const std::int64_t* targets,
                            std::int64_t rows, RowResult out) = 0;
  virtual void pack_values(const LogitsView& logits, std::int64_t pitch, float* out) = 0;
  virtual void assemble_rows(const float* gathered, std::span<const std::int64_t> bounds, std::int64_t rows,
                             std::int64_t pitch, std::int64_t vocab, float* out) = 0;
  virtual void torch_log_softmax(const float* values, std::int64_t rows, std::int64_t vocab,
                                 const std::int64_t* row_index, const std::int64_t* targets, RowResult out) = 0;
  virtual void row_census(const LogitsView& logits, const std::int64_t* targets, RowCensus* out) = 0;
  virtual void row_moments(const LogitsView& logits, RowMoments* out) = 0;
  virtual void tree_sum(const LogitsView& logits, const TreePlan& plan, std::int64_t slots, TreeValue* out) = 0;
  virtual void tree_finish(const std::byte* blocks, const TreeMerge& merge, const std::int64_t* targets,
                           std::int64_t rows, RowResult out) = 0;
};

}  // namespace drift
