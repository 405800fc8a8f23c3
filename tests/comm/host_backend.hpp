#pragma once

// Memory without kernels: what a Collective needs of a Backend. It can play a device, whose memory only
// copies reach.

#include <cstring>
#include <new>
#include <stdexcept>

#include "backend/backend.hpp"

namespace drift::test {

class HostBackend final : public Backend {
 public:
  explicit HostBackend(bool host_memory) : host_memory_(host_memory) {}

  std::string name() const override { return "test"; }
  std::string device_model() const override { return "none"; }
  std::string device_uuid() const override { return ""; }
  bool host_memory() const override { return host_memory_; }

  Buffer allocate(std::int64_t bytes) override {
    return Buffer(new std::byte[static_cast<std::size_t>(bytes)], bytes,
                  [](std::byte* data) noexcept { delete[] data; });
  }
  Buffer allocate_host(std::int64_t bytes) override { return allocate(bytes); }
  const std::byte* make_resident(const Buffer& host, std::int64_t, Buffer&) override { return host.data(); }
  void upload(const void* host, void* device, std::int64_t bytes) override { copy(host, device, bytes); }
  void download(const void* device, void* host, std::int64_t bytes) override { copy(device, host, bytes); }
  void copy(const void* from, void* to, std::int64_t bytes) override {
    if (bytes > 0) std::memmove(to, from, static_cast<std::size_t>(bytes));
  }

  void row_max(const LogitsView&, float*) override { none(); }
  void row_sum_exp(const LogitsView&, const float*, float*) override { none(); }
  void row_target(const LogitsView&, const std::int64_t*, float*) override { none(); }
  void row_log_prob(const float*, const float*, const float*, const std::int64_t*, std::int64_t,
                    RowResult) override {
    none();
  }
  void pack_values(const LogitsView&, std::int64_t, float*) override { none(); }
  void assemble_rows(const float*, std::span<const std::int64_t>, std::int64_t, std::int64_t, std::int64_t,
                     float*) override {
    none();
  }
  void torch_log_softmax(const float*, std::int64_t, std::int64_t, const std::int64_t*, const std::int64_t*,
                         RowResult) override {
    none();
  }
  void row_census(const LogitsView&, const std::int64_t*, RowCensus*) override { none(); }
  void row_moments(const LogitsView&, RowMoments*) override { none(); }
  void tree_sum(const LogitsView&, const TreePlan&, std::int64_t, TreeValue*) override { none(); }
  void tree_finish(const std::byte*, const TreeMerge&, const std::int64_t*, std::int64_t,
                   RowResult) override {
    none();
  }

 private:
  [[noreturn]] static void none() { throw std::logic_error("this backend has no kernels"); }
  bool host_memory_;
};

}  // namespace drift::test
