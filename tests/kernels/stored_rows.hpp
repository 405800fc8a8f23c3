#pragma once

// Rows as a file would hold them: any logits dtype, at an unaligned address, with a pitch and rubbish in the
// padding.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "base/float16.hpp"
#include "kernels/views.hpp"

namespace drift::test {

/// The stored bits of x; 16-bit dtypes round.
inline std::uint64_t stored_bits(Dtype dtype, double x) {
  const float narrow = static_cast<float>(x);
  switch (dtype) {
    case Dtype::BF16: return round_bf16(narrow);
    case Dtype::F16: return round_f16(narrow);
    case Dtype::F64: return std::bit_cast<std::uint64_t>(x);
    default: return std::bit_cast<std::uint32_t>(narrow);
  }
}

/// Whether the dtype holds every value of x.
inline bool holds(Dtype dtype, const std::vector<float>& x) {
  for (const float value : x) {
    if (dtype == Dtype::BF16 && widen_bf16(round_bf16(value)) != value) return false;
    if (dtype == Dtype::F16 && widen_f16(round_f16(value)) != value) return false;
  }
  return true;
}

/// Whole rows of `padded` columns: real ones first, then NaN, which no kernel may read.
class StoredRows {
 public:
  template <class Float>
  StoredRows(Dtype dtype, const std::vector<std::vector<Float>>& rows, std::int64_t padded,
             int misaligned = 1)
      : dtype_(dtype),
        padded_(padded),
        rows_(static_cast<std::int64_t>(rows.size())),
        misaligned_(misaligned) {
    vocab_ = rows.empty() ? 0 : static_cast<std::int64_t>(rows[0].size());
    const std::int64_t size = bytes();
    data_.resize(static_cast<std::size_t>(rows_ * padded * size + misaligned));
    for (std::int64_t r = 0; r < rows_; ++r)
      for (std::int64_t c = 0; c < padded; ++c) {
        const double x =
            c < vocab_ ? static_cast<double>(rows[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)])
                       : std::numeric_limits<double>::quiet_NaN();
        const std::uint64_t bits = stored_bits(dtype, x);
        std::memcpy(data_.data() + misaligned + (r * padded + c) * size, &bits,
                    static_cast<std::size_t>(size));
      }
  }

  /// The view that a rank with these columns has.
  LogitsView view(Range columns) const {
    LogitsView view;
    view.rule.stored = view.rule.candidate = dtype_;
    view.data = data_.data() + misaligned_ + columns.begin * bytes();
    view.rows = rows_;
    view.pitch = padded_;
    view.columns = columns;
    view.vocab = vocab_;
    return view;
  }
  LogitsView view() const { return view({0, padded_}); }
  std::int64_t padded() const { return padded_; }

 private:
  std::int64_t bytes() const { return dtype_ == Dtype::F64 ? 8 : dtype_ == Dtype::F32 ? 4 : 2; }

  Dtype dtype_;
  std::int64_t padded_ = 0, rows_ = 0, vocab_ = 0;
  int misaligned_ = 1;
  std::vector<std::byte> data_;
};

}  // namespace drift::test
