#include "topology/shard.hpp"

namespace drift {

int VocabBounds::owner(std::int64_t column) const {
  for (int rank = 0; rank < tp(); ++rank)
    if (columns(rank).contains(column)) return rank;
  return -1;
}

std::int64_t VocabBounds::widest() const {
  std::int64_t widest = 0;
  for (int rank = 0; rank < tp(); ++rank) widest = std::max(widest, columns(rank).size());
  return widest;
}

VocabBounds even_bounds(std::int64_t padded_vocab, int tp) {
  VocabBounds out;
  for (int rank = 0; rank < tp; ++rank) out.bounds.push_back(even_part(padded_vocab, tp, rank).begin);
  out.bounds.push_back(padded_vocab);
  return out;
}

namespace {

void append(std::vector<Range>& ranges, Range next) {
  if (next.empty()) return;
  if (!ranges.empty() && ranges.back().end == next.begin)
    ranges.back().end = next.end;
  else
    ranges.push_back(next);
}

}  // namespace

std::vector<Range> cp_rows(std::int64_t batch, std::int64_t sequence, int cp, int cp_rank, CpLayout layout) {
  std::vector<Range> out;
  if (layout == CpLayout::contiguous) {
    append(out, even_part(batch * sequence, cp, cp_rank));
    return out;
  }
  for (std::int64_t b = 0; b < batch; ++b)
    for (const std::int64_t chunk : {std::int64_t{cp_rank}, std::int64_t{2} * cp - 1 - cp_rank}) {
      const Range part = even_part(sequence, std::int64_t{2} * cp, chunk);
      append(out, {b * sequence + part.begin, b * sequence + part.end});
    }
  return out;
}

std::int64_t count(std::span<const Range> ranges) {
  std::int64_t rows = 0;
  for (const Range& range : ranges) rows += range.size();
  return rows;
}

std::vector<std::int32_t> cp_chunks(std::int64_t batch, std::int64_t sequence, int cp, CpLayout layout) {
  const std::int64_t rows = batch * sequence;
  std::vector<std::int32_t> out(static_cast<std::size_t>(rows));
  const auto mark = [&](std::int64_t first, Range part, int chunk) {
    std::fill(out.begin() + first + part.begin, out.begin() + first + part.end, chunk);
  };
  if (layout == CpLayout::contiguous) {
    for (int rank = 0; rank < cp; ++rank) mark(0, even_part(rows, cp, rank), rank);
    return out;
  }
  for (std::int64_t b = 0; b < batch; ++b)
    for (int chunk = 0; chunk < 2 * cp; ++chunk)
      mark(b * sequence, even_part(sequence, 2 * cp, chunk), chunk);
  return out;
}

std::vector<std::int64_t> row_numbers(std::span<const Range> ranges) {
  std::vector<std::int64_t> out;
  out.reserve(static_cast<std::size_t>(count(ranges)));
  for (const Range& range : ranges)
    for (std::int64_t row = range.begin; row < range.end; ++row) out.push_back(row);
  return out;
}

std::vector<Range> slice(std::span<const Range> ranges, Range part) {
  std::vector<Range> out;
  std::int64_t seen = 0;
  for (const Range& range : ranges) {
    const Range here = intersect({seen, seen + range.size()}, part);
    append(out, {range.begin + (here.begin - seen), range.begin + (here.end - seen)});
    seen += range.size();
  }
  return out;
}

}  // namespace drift
