#pragma once

#include "kernels/views.hpp"

namespace drift::cpu {

/// out[r] = value of column targets[r] if this shard owns it, else 0. A target of -1 (inactive row) gives 0. Exact.
void row_target(const LogitsView& logits, const std::int64_t* targets, float* out);

}  // namespace drift::cpu
