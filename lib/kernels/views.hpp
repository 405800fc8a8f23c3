#pragma once

// What kernels read and write. Pointers are into a backend's memory; nothing here owns.

#include <cstddef>
#include <cstdint>

#include "base/range.hpp"
#include "kernels/value_rule.hpp"

namespace drift {

/// One rank's logits, as stored: element (r, c) for c in `columns` lies at
/// `data + (r * pitch + (c - columns.begin)) * bytes(rule.stored)`.
struct LogitsView {
  const std::byte* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t pitch = 0;  ///< elements from one row to the next, >= columns.size()
  Range columns;           ///< this shard's columns of the padded vocabulary
  std::int64_t vocab = 0;  ///< V: columns >= vocab are padding, never read
  ValueRule rule;

  /// The shard's columns that count.
  constexpr Range real() const { return intersect(columns, {0, vocab}); }
  constexpr const std::byte* row(std::int64_t r) const { return data + r * pitch * bytes_per_element(); }
  constexpr std::int64_t bytes_per_element() const {
    return rule.stored == Dtype::F64 ? 8 : rule.stored == Dtype::F32 ? 4 : 2;
  }
};

/// A row's log-sum-exp over the vocabulary and its target's log-prob, both fp32, in nats.
struct RowResult {
  float* lse = nullptr;
  float* logp = nullptr;
};

}  // namespace drift
