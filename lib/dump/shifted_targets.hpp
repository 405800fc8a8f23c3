#pragma once

// --targets-are input-ids: row (b, s) predicts the token that follows in its own sequence.

#include <cstdint>
#include <span>
#include <vector>

namespace drift {

/// target[b, s] = ids[b, s + 1]; the last row of every sequence has no next token and gets `ignore_index`.
/// `ids` is [batch, sequence]; throws Fault::internal if it is not.
std::vector<std::int64_t> shifted_targets(std::span<const std::int64_t> ids, std::int64_t batch,
                                          std::int64_t sequence, std::int64_t ignore_index);

}  // namespace drift
