#include "dump/census.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "dump/widen.hpp"

namespace drift {
namespace {

// A finite value beyond +-2^30 stands for an infinity: stacks mask with finfo.min or -1e30.
constexpr float beyond = 0x1p30f;

bool ordinary(float value) { return value >= -beyond && value <= beyond; }

void count(Census& census, std::span<const float> values, std::int64_t row, std::int64_t first_column) {
  census.values += static_cast<std::int64_t>(values.size());
  if (std::all_of(values.begin(), values.end(), ordinary)) return;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float value = values[i];
    if (ordinary(value)) continue;
    if (value < 0) {
      ++(std::isinf(value) ? census.minus : census.masked);
      continue;
    }
    ++(std::isnan(value) ? census.nan : census.plus);
    if (census.first_row >= 0) continue;
    census.first_row = row;
    census.first_column = first_column + static_cast<std::int64_t>(i);
  }
}

}  // namespace

LogitsCensus census_of(const DumpFile& dump, const TensorInfo& logits, std::int64_t real_vocab) {
  LogitsCensus out;
  if (logits.elements == 0 || logits.shape.empty()) return out;
  const std::int64_t padded_vocab = logits.shape.back(), rows = logits.elements / padded_vocab;
  const std::int64_t real = std::clamp<std::int64_t>(real_vocab, 0, padded_vocab);
  const std::int64_t width = bytes(logits.dtype), row_bytes = padded_vocab * width;
  // A few rows at a time; a row of any length in pieces.
  const std::int64_t piece = std::min<std::int64_t>(padded_vocab, 1 << 20);
  const std::int64_t rows_at_once = std::max<std::int64_t>(1, (1 << 20) / padded_vocab);
  std::vector<std::byte> stored(static_cast<std::size_t>(std::min(rows, rows_at_once) * piece * width));
  std::vector<float> values(static_cast<std::size_t>(piece));
  for (std::int64_t row = 0; row < rows; row += rows_at_once) {
    const std::int64_t here = std::min(rows_at_once, rows - row);
    for (std::int64_t column = 0; column < padded_vocab; column += piece) {
      const std::int64_t columns = std::min(piece, padded_vocab - column);
      const auto size = static_cast<std::size_t>(columns * width);
      // More than one row at once implies that a piece is a whole row, so one read gets them all.
      const auto block = std::span(stored).first(static_cast<std::size_t>(here) * size);
      dump.read(logits.offset + row * row_bytes + column * width, block);
      for (std::int64_t i = 0; i < here; ++i) {
        const auto line = std::span(values).first(static_cast<std::size_t>(columns));
        widen(logits.dtype, block.subspan(static_cast<std::size_t>(i) * size, size), line);
        const auto inside = static_cast<std::size_t>(std::clamp<std::int64_t>(real - column, 0, columns));
        count(out.real, line.first(inside), row + i, column);
        count(out.padded, line.subspan(inside), row + i, column + static_cast<std::int64_t>(inside));
      }
    }
  }
  return out;
}

}  // namespace drift
