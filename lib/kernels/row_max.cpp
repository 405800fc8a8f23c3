#include "kernels/row_max.hpp"

#include <algorithm>
#include <limits>

#include "kernels/read_values.hpp"

namespace drift::cpu {

void row_max(const LogitsView& logits, float* out) {
  constexpr std::int64_t lanes = 32,
                         chunk = 1024;  // many maxima at once: they vectorise, and order does not matter
  const Range columns = logits.real();
  for (std::int64_t r = 0; r < logits.rows; ++r) {
    float largest[lanes], x[chunk];
    std::fill(largest, largest + lanes, -std::numeric_limits<float>::infinity());
    for (std::int64_t at = 0; at < columns.size(); at += chunk) {
      const std::int64_t count = std::min(chunk, columns.size() - at);
      read_values(logits.rule, logits.row(r) + at * logits.bytes_per_element(), count, x);
      std::fill(x + count, x + chunk, -std::numeric_limits<float>::infinity());
      for (std::int64_t i = 0; i < chunk; i += lanes)
        for (std::int64_t j = 0; j < lanes; ++j) largest[j] = x[i + j] > largest[j] ? x[i + j] : largest[j];
    }
    out[r] = *std::max_element(largest, largest + lanes) + 0.0f;  // -0 becomes +0
  }
}

}  // namespace drift::cpu
