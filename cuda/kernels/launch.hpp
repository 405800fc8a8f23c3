#pragma once

// The kernels' names again, for the GPU: each queues work on `stream` and returns. Pointers are into device
// memory. What they compute stands in lib/kernels/<kernel>.hpp. A failed launch is left in cudaGetLastError
// for the caller.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/row_census.hpp"
#include "kernels/row_moments.hpp"
#include "kernels/tree_plan.hpp"
#include "kernels/tree_value.hpp"
#include "kernels/views.hpp"

namespace drift::cuda {

void row_max(const LogitsView& logits, float* out, cudaStream_t stream);
void row_sum_exp(const LogitsView& logits, const float* shift, float* out, cudaStream_t stream);
void row_target(const LogitsView& logits, const std::int64_t* targets, float* out, cudaStream_t stream);
void row_log_prob(const float* max, const float* sum, const float* target, const std::int64_t* targets,
                  std::int64_t rows, RowResult out, cudaStream_t stream);
void pack_values(const LogitsView& logits, std::int64_t pitch, float* out, cudaStream_t stream);
void torch_log_softmax(const float* values, std::int64_t rows, std::int64_t vocab,
                       const std::int64_t* row_index, const std::int64_t* targets, RowResult out,
                       cudaStream_t stream);
void row_census(const LogitsView& logits, const std::int64_t* targets, RowCensus* out, cudaStream_t stream);
void row_moments(const LogitsView& logits, RowMoments* out, cudaStream_t stream);

/// A tile that is not 2048 real columns: a smaller node, or the last one before padding.
struct EdgeTile {
  std::int64_t begin = 0, end = 0;  ///< its real columns; the node begins at `begin`
  std::int64_t at = 0;              ///< position among the shard's tiles
};

/// A subtree as the fold of tiles [first, first + count); `span` tiles (a power of two) if none were padding.
struct SubtreeFold {
  std::int64_t first = 0, count = 0, span = 1;
};

struct TreeWork {
  std::int64_t tiles = 0;  ///< of the shard
  std::int64_t full_first = 0, full_count = 0,
               full_at = 0;  ///< complete tiles: index of the first, how many, position
  const EdgeTile* edges = nullptr;
  std::int64_t edge_count = 0;
  const SubtreeFold* folds = nullptr;
  std::int64_t fold_count = 0;
};

/// `scratch` has room for [rows][work.tiles] values.
void tree_sum(const LogitsView& logits, const TreeWork& work, std::int64_t slots, TreeValue* scratch,
              TreeValue* out, cudaStream_t stream);

/// The vectors of a TreeMerge, in device memory.
struct MergeWork {
  const TreeMerge::Source* sources = nullptr;
  std::int64_t source_count = 0;
  const std::int64_t* bounds = nullptr;
  std::int64_t tp = 1;
  std::int64_t slots = 1;
  std::int64_t block_bytes = 0;
};
void tree_finish(const std::byte* blocks, const MergeWork& merge, const std::int64_t* targets,
                 std::int64_t rows, RowResult out, cudaStream_t stream);

}  // namespace drift::cuda
