#pragma once

#include "kernels/views.hpp"

namespace drift::cpu {

/// out[r] = max of row r's values over the shard's real columns; -inf if it has none.
/// Order-free and exact; a maximum of zero is +0. A NaN is passed over (its row is left out of every statistic by the census).
void row_max(const LogitsView& logits, float* out);

}  // namespace drift::cpu
