#include "kernels/pack_values.hpp"

#include <algorithm>

#include "kernels/read_values.hpp"

namespace drift::cpu {

void pack_values(const LogitsView& logits, std::int64_t pitch, float* out) {
  const std::int64_t count = logits.real().size();
  for (std::int64_t r = 0; r < logits.rows; ++r)
    read_values(logits.rule, logits.row(r), count, out + r * pitch);
}

void assemble_rows(const float* gathered, std::span<const std::int64_t> bounds, std::int64_t rows,
                   std::int64_t pitch, std::int64_t vocab, float* out) {
  for (std::size_t rank = 0; rank + 1 < bounds.size(); ++rank) {
    const Range columns = intersect({bounds[rank], bounds[rank + 1]}, {0, vocab});
    const float* block = gathered + static_cast<std::int64_t>(rank) * rows * pitch;
    for (std::int64_t r = 0; r < rows && !columns.empty(); ++r)
      std::copy_n(block + r * pitch, columns.size(), out + r * vocab + columns.begin);
  }
}

}  // namespace drift::cpu
