#include "dump/shifted_targets.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace drift {

std::vector<std::int64_t> shifted_targets(std::span<const std::int64_t> ids, std::int64_t batch,
                                          std::int64_t sequence, std::int64_t ignore_index) {
  require(batch >= 0 && sequence >= 0 && static_cast<std::int64_t>(ids.size()) == batch * sequence,
          Fault::internal, "shifted_targets: ids are not [batch, sequence]");
  std::vector<std::int64_t> targets(ids.size(), ignore_index);
  for (std::int64_t b = 0; b < batch && sequence > 1; ++b)
    std::copy_n(ids.begin() + b * sequence + 1, sequence - 1, targets.begin() + b * sequence);
  return targets;
}

}  // namespace drift
