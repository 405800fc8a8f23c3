#pragma once

#include "kernels/views.hpp"

namespace drift {

enum class BadValue : std::int32_t { none = 0, nan = 1, pos_inf = 2, all_neg_inf = 3, target_neg_inf = 4 };

/// What a row's values are apart from numbers, judged as value_rule.hpp says.
struct RowCensus {
  std::int64_t nonfinite = 0;   ///< NaN and +inf among the real columns
  std::int64_t masked = 0;      ///< finite stored values that count as -inf
  std::int64_t first_bad = -1;  ///< first NaN or +inf column; else the target's column for the last two kinds
  std::int64_t rounded = 0;     ///< F64 values that fp32 does not hold exactly; NaNs are held
  BadValue kind = BadValue::none;
  std::int32_t reserved = 0;    ///< keeps the struct free of padding bytes: it is compared and hashed as bytes
};

namespace cpu {

/// One RowCensus a row over its real columns. `kind` is, in this order of preference: that of the first NaN or +inf column;
/// all_neg_inf if no column is above -inf; target_neg_inf if targets[r] >= 0 is at -inf. Integers: exact on every backend.
void row_census(const LogitsView& logits, const std::int64_t* targets, RowCensus* out);

}  // namespace cpu
}  // namespace drift
