#pragma once

// Which columns a TP rank owns and which rows a CP rank owns.

#include <cstdint>
#include <span>
#include <vector>

#include "base/range.hpp"

namespace drift {

/// Part `index` of `parts` consecutive parts of [0, size); the first `size mod parts` parts have one more.
constexpr Range even_part(std::int64_t size, std::int64_t parts, std::int64_t index) {
  const std::int64_t base = size / parts, extra = size % parts;
  const std::int64_t begin = index * base + std::min(index, extra);
  return {begin, begin + base + (index < extra ? 1 : 0)};
}

/// The vocabulary cut among TP ranks: rank i owns columns [bounds[i], bounds[i + 1]).
struct VocabBounds {
  std::vector<std::int64_t> bounds;  ///< tp + 1 numbers, 0 first, the padded vocabulary last, never falling

  int tp() const { return static_cast<int>(bounds.size()) - 1; }
  Range columns(int tp_rank) const {
    return {bounds[static_cast<std::size_t>(tp_rank)], bounds[static_cast<std::size_t>(tp_rank) + 1]};
  }
  /// The TP rank whose columns contain `column`; -1 if none does.
  int owner(std::int64_t column) const;
  std::int64_t widest() const;

  friend bool operator==(const VocabBounds&, const VocabBounds&) = default;
};

VocabBounds even_bounds(std::int64_t padded_vocab, int tp);

enum class CpLayout { contiguous, zigzag };

/// The rows of the flattened [batch * sequence] dump that `cp_rank` owns, as ascending disjoint non-empty
/// ranges. contiguous: one part of [0, batch * sequence). zigzag: per sequence 2 * cp chunks (the first S mod
/// 2cp one longer), chunk c goes to rank c < cp ? c : 2cp - 1 - c (Megatron's load-balanced order).
std::vector<Range> cp_rows(std::int64_t batch, std::int64_t sequence, int cp, int cp_rank, CpLayout layout);

/// The CP chunk that each row lies in: the CP rank for contiguous, the chunk of its sequence (0 to 2 * cp -
/// 1) for zigzag.
std::vector<std::int32_t> cp_chunks(std::int64_t batch, std::int64_t sequence, int cp, CpLayout layout);

/// Number of rows in `ranges`.
std::int64_t count(std::span<const Range> ranges);

/// Every row in `ranges`, in order.
std::vector<std::int64_t> row_numbers(std::span<const Range> ranges);

/// The sub-ranges that hold elements [part.begin, part.end) of the rows in `ranges`, counted in order.
std::vector<Range> slice(std::span<const Range> ranges, Range part);

}  // namespace drift
