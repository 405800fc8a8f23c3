#pragma once

#include <algorithm>
#include <cstdint>

namespace drift {

/// Half-open range [begin, end) of vocabulary columns or token rows.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  constexpr std::int64_t size() const { return end - begin; }
  constexpr bool empty() const { return end <= begin; }
  constexpr bool contains(std::int64_t i) const { return begin <= i && i < end; }
  friend constexpr bool operator==(const Range&, const Range&) = default;
};

/// The common part; empty ranges come back as {x, x}.
constexpr Range intersect(Range a, Range b) {
  const std::int64_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

}  // namespace drift
