#include "kernels/row_sum_exp.hpp"

#include <algorithm>

#include "kernels/instruction_set.hpp"
#include "kernels/read_values.hpp"

namespace drift::cpu {

void row_sum_exp(const LogitsView& logits, const float* shift, float* out) {
  constexpr std::int64_t lanes = 512;
  const Range columns = logits.real();
  for (std::int64_t r = 0; r < logits.rows; ++r) {
    float sums[lanes]{}, x[lanes];
    for (std::int64_t at = 0; at < columns.size(); at += lanes) {
      const std::int64_t count = std::min(lanes, columns.size() - at);
      read_values(logits.rule, logits.row(r) + at * logits.bytes_per_element(), count, x);
      exp_minus(x, count, shift[r], x);
      for (std::int64_t i = 0; i < count; ++i) sums[i] += x[i];
    }
    for (std::int64_t half = lanes / 2; half > 0; half /= 2)
      for (std::int64_t i = 0; i < half; ++i) sums[i] += sums[i + half];
    out[r] = sums[0];
  }
}

}  // namespace drift::cpu
