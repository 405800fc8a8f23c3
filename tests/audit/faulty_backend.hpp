#pragma once

// A CPU backend that goes wrong once, where and how a test says: the audit's fault injection.

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "backend/cpu_backend.hpp"

namespace drift::test {

/// Called with the kernel's name before it runs; may throw.
using Before = std::function<void(const std::string& kernel)>;
/// Called with a row result after tree_finish; may change it.
using Tamper = std::function<void(RowResult, std::int64_t rows)>;

class FaultyBackend final : public Backend {
 public:
  explicit FaultyBackend(Before before, Tamper tamper = {})
      : cpu_(make_cpu_backend()), before_(std::move(before)), tamper_(std::move(tamper)) {}

  std::string name() const override { return cpu_->name(); }
  std::string device_model() const override { return cpu_->device_model(); }
  std::string device_uuid() const override { return "test"; }
  bool host_memory() const override { return true; }
  Buffer allocate(std::int64_t bytes) override {
    before_("allocate");
    return cpu_->allocate(bytes);
  }
  Buffer allocate_host(std::int64_t bytes) override {
    before_("allocate_host");
    return cpu_->allocate_host(bytes);
  }
  const std::byte* make_resident(const Buffer& host, std::int64_t bytes, Buffer& device) override {
    before_("make_resident");
    return cpu_->make_resident(host, bytes, device);
  }
  void upload(const void* host, void* device, std::int64_t bytes) override { cpu_->upload(host, device, bytes); }
  void download(const void* device, void* host, std::int64_t bytes) override { cpu_->download(device, host, bytes); }
  void copy(const void* from, void* to, std::int64_t bytes) override { cpu_->copy(from, to, bytes); }

  void row_max(const LogitsView& logits, float* out) override {
    before_("row_max");
    cpu_->row_max(logits, out);
  }
  void row_sum_exp(const LogitsView& logits, const float* shift, float* out) override {
    before_("row_sum_exp");
    cpu_->row_sum_exp(logits, shift, out);
  }
  void row_target(const LogitsView& logits, const std::int64_t* targets, float* out) override {
    before_("row_target");
    cpu_->row_target(logits, targets, out);
  }
  void row_log_prob(const float* max, const float* sum, const float* target, const std::int64_t* targets,
                    std::int64_t rows, RowResult out) override {
    before_("row_log_prob");
    cpu_->row_log_prob(max, sum, target, targets, rows, out);
  }
  void pack_values(const LogitsView& logits, std::int64_t pitch, float* out) override {
    before_("pack_values");
    cpu_->pack_values(logits, pitch, out);
  }
  void assemble_rows(const float* gathered, std::span<const std::int64_t> bounds, std::int64_t rows,
                     std::int64_t pitch, std::int64_t vocab, float* out) override {
    before_("assemble_rows");
    cpu_->assemble_rows(gathered, bounds, rows, pitch, vocab, out);
  }
  void torch_log_softmax(const float* values, std::int64_t rows, std::int64_t vocab, const std::int64_t* row_index,
                         const std::int64_t* targets, RowResult out) override {
    before_("torch_log_softmax");
    cpu_->torch_log_softmax(values, rows, vocab, row_index, targets, out);
  }
  void row_census(const LogitsView& logits, const std::int64_t* targets, RowCensus* out) override {
    before_("row_census");
    cpu_->row_census(logits, targets, out);
  }
  void row_moments(const LogitsView& logits, RowMoments* out) override {
    before_("row_moments");
    cpu_->row_moments(logits, out);
  }
  void tree_sum(const LogitsView& logits, const TreePlan& plan, std::int64_t slots, TreeValue* out) override {
    before_("tree_sum");
    cpu_->tree_sum(logits, plan, slots, out);
  }
  void tree_finish(const std::byte* blocks, const TreeMerge& merge, const std::int64_t* targets, std::int64_t rows,
                   RowResult out) override {
    before_("tree_finish");
    cpu_->tree_finish(blocks, merge, targets, rows, out);
    if (tamper_) tamper_(out, rows);
  }

 private:
  std::unique_ptr<Backend> cpu_;
  Before before_;
  Tamper tamper_;
};

}  // namespace drift::test
