#include "kernels/row_target.hpp"

#include "kernels/read_values.hpp"

namespace drift::cpu {

void row_target(const LogitsView& logits, const std::int64_t* targets, float* out) {
  const Range columns = logits.real();
  for (std::int64_t r = 0; r < logits.rows; ++r) {
    out[r] = 0.0f;
    if (!columns.contains(targets[r])) continue;
    const std::int64_t offset = (targets[r] - logits.columns.begin) * logits.bytes_per_element();
    read_values(logits.rule, logits.row(r) + offset, 1, out + r);
  }
}

}  // namespace drift::cpu
