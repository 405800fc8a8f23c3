#include "stats/zeros.hpp"

#include <string>

#include "base/error.hpp"

namespace drift {

std::int64_t zeros_among(std::span<const float> values, std::span<const float> other,
                         std::span<const std::uint8_t> use) {
  require(values.size() == other.size() && values.size() == use.size(), Fault::internal,
          "columns of one comparison have different lengths, seen " + std::to_string(values.size()) + ", " +
              std::to_string(other.size()) + " and " + std::to_string(use.size()));
  std::int64_t out = 0;
  for (std::size_t r = 0; r < values.size(); ++r) out += use[r] && values[r] == 0 && other[r] < certain_logp;
  return out;
}

}  // namespace drift
