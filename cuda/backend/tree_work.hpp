#pragma once

// A TreePlan as the GPU kernels want it: complete tiles as one run, everything else as a list.

#include <vector>

#include "kernels/launch.hpp"
#include "kernels/tree_plan.hpp"
#include "kernels/views.hpp"

namespace drift {

/// Host side of cuda::TreeWork; `edges` and `folds` still have to be uploaded.
struct HostTreeWork {
  cuda::TreeWork work;
  std::vector<cuda::EdgeTile> edges;
  std::vector<cuda::SubtreeFold> folds;
};

HostTreeWork tree_work(const LogitsView& logits, const TreePlan& plan);

}  // namespace drift
