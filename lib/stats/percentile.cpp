#include "stats/percentile.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace drift {

std::vector<double> nearest_ranks(std::span<double> values, std::span<const int> permille) {
  std::vector<double> out(permille.size(), std::numeric_limits<double>::quiet_NaN());
  if (values.empty()) return out;
  std::size_t sorted =
      0;  // everything before is at or below everything after: each search only looks at the rest
  for (std::size_t i = 0; i < permille.size(); ++i) {
    const std::size_t rank = (values.size() * static_cast<std::size_t>(permille[i]) + 999) / 1000;
    const std::size_t index = std::max<std::size_t>(rank, 1) - 1;
    if (index >= sorted) {
      std::nth_element(values.begin() + static_cast<std::ptrdiff_t>(sorted),
                       values.begin() + static_cast<std::ptrdiff_t>(index), values.end());
      sorted = index + 1;
    }
    out[i] = values[index];
  }
  return out;
}

}  // namespace drift
