#include "plugin/whole_rows.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "base/error.hpp"

namespace drift {
namespace {

std::int64_t size_of(std::int64_t a, std::int64_t b, std::int64_t c) {
  const auto ab = checked_mul(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b));
  const auto abc = ab ? checked_mul(*ab, static_cast<std::uint64_t>(c)) : std::nullopt;
  require(abc && *abc <= std::uint64_t{1} << 62, Fault::device,
          "whole rows do not fit any memory (a smaller --rows-per-chunk needs less), seen " +
              std::to_string(a) + " rows of " + std::to_string(b) + " columns");
  return static_cast<std::int64_t>(*abc);
}

}  // namespace

WholeRows gather_whole_rows(const FormulaInput& in) {
  const LogitsView& shard = in.logits;
  const std::int64_t element = shard.bytes_per_element(), padded = in.bounds.bounds.back();
  const std::int64_t pitch = std::max<std::int64_t>(1, in.bounds.widest());
  const std::int64_t block = size_of(shard.rows, pitch, element);

  WholeRows out;
  out.memory = in.on.allocate(size_of(shard.rows, padded, element));
  Buffer mine = in.on.allocate(block),
         all = in.on.allocate(size_of(in.tp.size(), shard.rows, pitch * element));
  for (std::int64_t r = 0; r < shard.rows; ++r)
    in.on.copy(shard.row(r), mine.data() + r * pitch * element, shard.columns.size() * element);
  in.tp.all_gather(mine.data(), all.data(), block);
  for (int rank = 0; rank < in.tp.size(); ++rank) {
    const Range columns = in.bounds.columns(rank);
    for (std::int64_t r = 0; r < shard.rows; ++r)
      in.on.copy(all.data() + rank * block + r * pitch * element,
                 out.memory.data() + (r * padded + columns.begin) * element, columns.size() * element);
  }
  out.logits = shard;
  out.logits.data = out.memory.data();
  out.logits.pitch = padded;
  out.logits.columns = {0, padded};
  return out;
}

}  // namespace drift
