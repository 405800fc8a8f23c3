#include "backend/cpu_backend.hpp"

#include <cstring>
#include <fstream>
#include <new>

#include "base/error.hpp"
#include "kernels/pack_values.hpp"
#include "kernels/row_census.hpp"
#include "kernels/row_log_prob.hpp"
#include "kernels/row_max.hpp"
#include "kernels/row_moments.hpp"
#include "kernels/row_sum_exp.hpp"
#include "kernels/row_target.hpp"
#include "kernels/torch_log_softmax.hpp"
#include "kernels/tree_sum.hpp"

namespace drift {
namespace {

constexpr std::align_val_t cache_line{64};

constexpr std::int64_t address_space = std::int64_t{1} << 47;  ///< more was never to be had: do not even ask

Buffer allocate_aligned(std::int64_t bytes) {
  void* data = nullptr;
  if (bytes >= 0 && bytes < address_space)
    data = ::operator new(static_cast<std::size_t>(bytes), cache_line, std::nothrow);
  require(data != nullptr, Fault::device,
          "the host has no memory left for the audit's buffers, asked for " + std::to_string(bytes) +
              " bytes (a smaller --rows-per-chunk needs less)");
  return {static_cast<std::byte*>(data), bytes,
          [](std::byte* p) noexcept { ::operator delete(p, cache_line); }};
}

/// The CPU's name as the kernel reports it; architectures without one in /proc/cpuinfo are just "CPU".
std::string cpu_model() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "CPU";
}

void copy_bytes(const void* from, void* to, std::int64_t bytes) {
  if (bytes > 0 && from != to) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

class CpuBackend final : public Backend {
 public:
  std::string name() const override { return "cpu"; }
  std::string device_model() const override { return cpu_model(); }
  std::string device_uuid() const override { return ""; }
  bool host_memory() const override { return true; }

  Buffer allocate(std::int64_t bytes) override { return allocate_aligned(bytes); }
  Buffer allocate_host(std::int64_t bytes) override { return allocate_aligned(bytes); }
  const std::byte* make_resident(const Buffer& host, std::int64_t, Buffer&) override { return host.data(); }
  void upload(const void* host, void* device, std::int64_t bytes) override {
    copy_bytes(host, device, bytes);
  }
  void download(const void* device, void* host, std::int64_t bytes) override {
    copy_bytes(device, host, bytes);
  }
  void copy(const void* from, void* to, std::int64_t bytes) override { copy_bytes(from, to, bytes); }

  void row_max(const LogitsView& logits, float* out) override { cpu::row_max(logits, out); }
  void row_sum_exp(const LogitsView& logits, const float* shift, float* out) override {
    cpu::row_sum_exp(logits, shift, out);
  }
  void row_target(const LogitsView& logits, const std::int64_t* targets, float* out) override {
    cpu::row_target(logits, targets, out);
  }
  void row_log_prob(const float* max, const float* sum, const float* target, const std::int64_t* targets,
                    std::int64_t rows, RowResult out) override {
    cpu::row_log_prob(max, sum, target, targets, rows, out);
  }
  void pack_values(const LogitsView& logits, std::int64_t pitch, float* out) override {
    cpu::pack_values(logits, pitch, out);
  }
  void assemble_rows(const float* gathered, std::span<const std::int64_t> bounds, std::int64_t rows,
                     std::int64_t pitch, std::int64_t vocab, float* out) override {
    cpu::assemble_rows(gathered, bounds, rows, pitch, vocab, out);
  }
  void torch_log_softmax(const float* values, std::int64_t rows, std::int64_t vocab,
                         const std::int64_t* row_index, const std::int64_t* targets, RowResult out) override {
    cpu::torch_log_softmax(values, rows, vocab, row_index, targets, out);
  }
  void row_census(const LogitsView& logits, const std::int64_t* targets, RowCensus* out) override {
    cpu::row_census(logits, targets, out);
  }
  void row_moments(const LogitsView& logits, RowMoments* out) override { cpu::row_moments(logits, out); }
  void tree_sum(const LogitsView& logits, const TreePlan& plan, std::int64_t slots, TreeValue* out) override {
    cpu::tree_sum(logits, plan, slots, out);
  }
  void tree_finish(const std::byte* blocks, const TreeMerge& merge, const std::int64_t* targets,
                   std::int64_t rows, RowResult out) override {
    cpu::tree_finish(blocks, merge, targets, rows, out);
  }
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend() { return std::make_unique<CpuBackend>(); }

}  // namespace drift
