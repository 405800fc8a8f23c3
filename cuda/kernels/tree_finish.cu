// tree_finish: one thread a row folds what all ranks sent.

#include "kernels/elements.cuh"
#include "kernels/fixed_tree.hpp"
#include "kernels/launch.hpp"

namespace drift::cuda {
namespace {

constexpr int threads = 64;

__global__ void __launch_bounds__(threads)
    kernel(const std::byte* blocks, MergeWork merge, const std::int64_t* targets, std::int64_t rows,
           RowResult out) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (row >= rows) return;
  fixed_tree::Fold fold;
  for (std::int64_t i = 0; i < merge.source_count; ++i) {
    const TreeMerge::Source source = merge.sources[i];
    const auto* values = reinterpret_cast<const TreeValue*>(blocks + source.tp_rank * merge.block_bytes);
    fold.push(source.node.level, source.node.index, values[row * merge.slots + source.node.slot]);
  }
  const double lse64 = fixed_tree::log_of(fold.finish());
  out.lse[row] = fixed_tree::lse_of(lse64);

  const std::int64_t target = targets[row];
  float logp = __uint_as_float(0x7fc00000u);
  if (target >= 0) {
    std::int64_t owner = 0;
    while (owner + 1 < merge.tp && target >= merge.bounds[owner + 1]) ++owner;
    const std::byte* of_owner = blocks + owner * merge.block_bytes + rows * merge.slots * 8;
    logp = fixed_tree::log_prob_of(reinterpret_cast<const float*>(of_owner)[row], lse64);
  }
  out.logp[row] = logp;
}

}  // namespace

void tree_finish(const std::byte* blocks, const MergeWork& merge, const std::int64_t* targets,
                 std::int64_t rows, RowResult out, cudaStream_t stream) {
  if (rows == 0) return;
  kernel<<<blocks_for(rows, threads, rows), threads, 0, stream>>>(blocks, merge, targets, rows, out);
}

}  // namespace drift::cuda
