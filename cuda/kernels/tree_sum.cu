// tree_sum in three launches: complete tiles at memory speed, the shard's ragged edges, then a fold of tiles
// to subtrees.
//
// Complete tiles: one warp a tile, and no maximum first. Within |x| <= 76 any common power of two gives the
// same bits (fixed_tree.hpp), so N = 0 is used and the tile's largest |x| checked meanwhile; a tile that
// fails is done again by node_value. A lane owns 8 adjacent columns (one 16-byte load of 16-bit elements) of
// each group of 256, so the tree's first three levels need no exchange; groups are folded by butterflies that
// also transpose, so each exchange halves the work.

#include <cuda_bf16.h>
#include <nv/target>

#include "kernels/launch.hpp"
#include "kernels/tree_node.cuh"

namespace drift::cuda {
namespace {

constexpr int threads = 256;
constexpr int warps = threads / 32;

/// How many groups are loaded before the first is used: 16-byte loads in flight against registers.
template <Dtype stored>
constexpr int groups_in_flight = sizeof(StoredBits<stored>) == 2   ? tile_groups
                                 : sizeof(StoredBits<stored>) == 4 ? 4
                                                                   : 2;

__device__ float leaf_at_zero(float x) { return fixed_tree::scaled_leaf(x, fixed_tree::round_magic); }

/// Largest |x| so far, and the leaves of a lane's eight columns.
template <Dtype stored>
struct Lane {
  float largest = 0.0f;

  __device__ float sum(const StoredBits<stored> (&bits)[8]) {
    float leaves[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const float x =
          Stored<stored>::widen(bits[j]);  // not judged: what judging would change is beyond the limit
      largest = fmaxf(largest, fabsf(x));
      leaves[j] = leaf_at_zero(x);
    }
    return tree_of_eight(leaves, AddFloats{});
  }
  __device__ bool within(float limit) const { return largest <= limit; }
};

[[maybe_unused]] __device__ std::uint32_t larger_magnitudes_in_two(std::uint32_t a, std::uint32_t b) {
  const __nv_bfloat162 larger = __hmax2(__habs2(*reinterpret_cast<const __nv_bfloat162*>(&a)),
                                        __habs2(*reinterpret_cast<const __nv_bfloat162*>(&b)));
  return *reinterpret_cast<const std::uint32_t*>(&larger);
}

/// max(|a|, |b|) of two pairs, each with a sign that means nothing. From sm_86 on it is one instruction.
__device__ std::uint32_t larger_magnitudes(std::uint32_t a, std::uint32_t b) {
  std::uint32_t out;
  NV_IF_ELSE_TARGET(NV_PROVIDES_SM_86,
                    (asm("max.xorsign.abs.bf16x2 %0, %1, %2;"
                         : "=r"(out)
                         : "r"(a), "r"(b));),
                    (out = larger_magnitudes_in_two(a, b);))
  return out;
}

/// The same for BF16 pairs, which are compared as pairs.
struct PackedLane {
  std::uint32_t largest = 0;

  __device__ float sum(const uint4& packed) {
    const std::uint32_t pairs[4] = {packed.x, packed.y, packed.z, packed.w};
    float leaves[8];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      largest = larger_magnitudes(largest, pairs[j]);
      leaves[2 * j] = leaf_at_zero(__uint_as_float(pairs[j] << 16));
      leaves[2 * j + 1] = leaf_at_zero(__uint_as_float(pairs[j] & 0xffff0000u));
    }
    return tree_of_eight(leaves, AddFloats{});
  }
  __device__ bool within(float limit) const {
    return fabsf(__uint_as_float(largest << 16)) <= limit &&
           fabsf(__uint_as_float(largest & 0xffff0000u)) <= limit;
  }
};

/// Sums of groups by lane, to the sum of the tile, on every lane.
__device__ float fold_groups(float (&of_group)[tile_groups]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  // Lanes' bits 0 to 2: neighbours exchange halves of their groups, so a lane ends with one group, its own
  // lane number's.
#pragma unroll
  for (int level = 0, left = tile_groups; left > 1; ++level, left /= 2) {
    const bool odd = (lane & (1 << level)) != 0;
#pragma unroll
    for (int i = 0; i < left / 2; ++i) {
      const float keep = odd ? of_group[2 * i + 1] : of_group[2 * i];
      const float send = odd ? of_group[2 * i] : of_group[2 * i + 1];
      of_group[i] = keep + from_lane_xor(send, 1 << level);
    }
  }
  float sum = of_group[0];
  sum += from_lane_xor(sum, 8);  // lanes' bits 3 and 4 end the groups
  sum += from_lane_xor(sum, 16);
  sum += from_lane_xor(sum, 1);  // then groups, neighbours first
  sum += from_lane_xor(sum, 2);
  sum += from_lane_xor(sum, 4);
  return sum;
}

/// The sum at N = 0, on every lane; false if a value is out of that scale's reach. Plain rows that begin at
/// 16 bytes.
template <Dtype stored>
__device__ bool aligned_tile(const std::byte* tile, float& sum) {
  using Bits = StoredBits<stored>;
  constexpr int group_bytes = group_columns * static_cast<int>(sizeof(Bits));
  constexpr int vectors = sizeof(Bits) / 2, batch = groups_in_flight<stored>;
  const std::byte* mine =
      tile + static_cast<int>(threadIdx.x) % 32 * lane_columns * static_cast<int>(sizeof(Bits));
  std::conditional_t<stored == Dtype::BF16, PackedLane, Lane<stored>> lane;
  float of_group[tile_groups];
#pragma unroll
  for (int first = 0; first < tile_groups; first += batch) {
    union Group {
      uint4 vectors[sizeof(Bits) / 2];
      Bits bits[8];
    } groups[batch];
#pragma unroll
    for (int g = 0; g < batch; ++g)
#pragma unroll
      for (int v = 0; v < vectors; ++v)
        groups[g].vectors[v] = load_streaming(mine + (first + g) * group_bytes + 16 * v);
#pragma unroll
    for (int g = 0; g < batch; ++g) {
      if constexpr (stored == Dtype::BF16)
        of_group[first + g] = lane.sum(groups[g].vectors[0]);
      else
        of_group[first + g] = lane.sum(groups[g].bits);
    }
  }
  sum = fold_groups(of_group);
  return __all_sync(~0u, lane.within(fixed_tree::tile_symmetric_limit));
}

/// The same for any rule and alignment.
template <Dtype stored, bool plain>
__device__ bool any_tile(const std::byte* tile, const ValueRule& rule, float& sum) {
  float largest = 0.0f;
  sum = sum_node<stored, plain, float>(
      tile, tile_columns, rule,
      [&largest](float x) {
        largest = fmaxf(largest, fabsf(x));
        return leaf_at_zero(x);
      },
      AddFloats{});
  return __all_sync(~0u, largest <= fixed_tree::tile_symmetric_limit);
}

__device__ void store(TreeValue* out, TreeValue value) {
  *reinterpret_cast<int2*>(out) =
      make_int2(__float_as_int(value.s), value.n);  // scratch is aligned to 8 bytes
}

constexpr int resident_blocks = 4;  ///< a multiprocessor: 64 registers a thread

/// How warps walk over (row, tile) pairs in order, `step` pairs at a time, without a division: where a row's
/// tiles end, the wraps put the pointers right.
struct Walk {
  std::int64_t pairs = 0, step = 0;
  int full_count = 0, tile_step = 0;
  std::int64_t row_bytes = 0, bytes_step = 0, bytes_wrap = 0;
  std::int64_t value_step = 0, value_wrap = 0;
};

Walk make_walk(const LogitsView& logits, const TreeWork& work, unsigned blocks) {
  const std::int64_t element = logits.bytes_per_element(), tile_bytes = tile_columns * element;
  Walk walk;
  walk.pairs = logits.rows * work.full_count;
  walk.step = std::int64_t{blocks} * warps;
  walk.full_count = static_cast<int>(work.full_count);
  walk.tile_step = static_cast<int>(walk.step % work.full_count);
  walk.row_bytes = logits.pitch * element;
  const std::int64_t rows = walk.step / work.full_count;
  walk.bytes_step = rows * walk.row_bytes + walk.tile_step * tile_bytes;
  walk.bytes_wrap = walk.row_bytes - work.full_count * tile_bytes;
  walk.value_step = rows * work.tiles + walk.tile_step;
  walk.value_wrap = work.tiles - work.full_count;
  return walk;
}

/// `first` and `values`: the first complete tile of row 0, and where its value goes.
template <Dtype stored, bool plain, bool aligned>
__global__ void __launch_bounds__(threads, resident_blocks)
    full_tiles(const std::byte* first, Walk walk, std::int64_t tiles, ValueRule rule, TreeValue* values) {
  std::int64_t pair = static_cast<std::int64_t>(blockIdx.x) * warps + threadIdx.x / 32;
  const std::int64_t row = pair / walk.full_count;
  int tile = static_cast<int>(pair % walk.full_count);
  const std::byte* at = first + row * walk.row_bytes +
                        tile * (tile_columns * static_cast<std::int64_t>(sizeof(StoredBits<stored>)));
  values += row * tiles + tile;
  for (; pair < walk.pairs; pair += walk.step) {
    float sum;
    bool reached;
    if constexpr (plain && aligned)
      reached = aligned_tile<stored>(at, sum);
    else
      reached = any_tile<stored, plain>(at, rule, sum);
    const TreeValue value =
        reached ? fixed_tree::normalised(sum, 0) : node_value<stored, plain>(at, tile_columns, rule);
    if (threadIdx.x % 32 == 0) store(values, value);
    at += walk.bytes_step;
    values += walk.value_step;
    tile += walk.tile_step;
    if (tile >= walk.full_count) {
      tile -= walk.full_count;
      at += walk.bytes_wrap;
      values += walk.value_wrap;
    }
  }
}

template <Dtype stored, bool plain>
__global__ void __launch_bounds__(threads) edge_tiles(LogitsView logits, TreeWork work, TreeValue* scratch) {
  const std::int64_t warp = static_cast<std::int64_t>(blockIdx.x) * warps + threadIdx.x / 32;
  const std::int64_t row = warp / work.edge_count;
  if (row >= logits.rows) return;
  const EdgeTile edge = work.edges[warp % work.edge_count];
  const std::byte* at = logits.row(row) + (edge.begin - logits.columns.begin) * logits.bytes_per_element();
  const TreeValue value = node_value<stored, plain>(at, static_cast<int>(edge.end - edge.begin), logits.rule);
  if (threadIdx.x % 32 == 0) store(scratch + row * work.tiles + edge.at, value);
}

/// One warp a row and slot. A lane folds the tiles of one aligned 32nd of the subtree, then lanes are folded.
__global__ void __launch_bounds__(threads) fold_tiles(TreeWork work, std::int64_t rows, std::int64_t slots,
                                                      const TreeValue* scratch, TreeValue* out) {
  const std::int64_t warp = static_cast<std::int64_t>(blockIdx.x) * warps + threadIdx.x / 32;
  const std::int64_t row = warp / slots, slot = warp % slots;
  if (row >= rows) return;
  TreeValue sum;
  if (slot < work.fold_count) {
    const SubtreeFold fold = work.folds[slot];
    const std::int64_t lane = threadIdx.x % 32, share = fold.span > 32 ? fold.span / 32 : 1;
    const TreeValue* tiles = scratch + row * work.tiles + fold.first;
    TreeValue waiting[32];  // values of the binary digits of the tiles seen: a vocabulary has fewer than 2^43
                            // columns
    int depth = 0;
    for (std::int64_t i = 0; i < share && lane * share + i < fold.count; ++i) {
      TreeValue value = tiles[lane * share + i];
      for (std::int64_t digits = i; digits % 2 == 1; digits /= 2)
        value = fixed_tree::merge(waiting[--depth], value);
      waiting[depth++] = value;
    }
    while (depth > 0) sum = fixed_tree::merge(waiting[--depth], sum);  // what is missing is padding: zero
    sum = tree_over_lanes(sum, 32, MergeValues{});
  }
  if (threadIdx.x % 32 == 0) out[warp] = sum;  // blocks of an odd number of rows are aligned to 4 bytes only
}

int multiprocessors() {
  int device = 0, count = 1;
  if (cudaGetDevice(&device) == cudaSuccess)
    static_cast<void>(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return count;
}

template <Dtype stored, bool plain>
void launch_tiles(const LogitsView& logits, const TreeWork& work, TreeValue* scratch, cudaStream_t stream) {
  if (work.full_count > 0) {
    constexpr std::int64_t element = sizeof(StoredBits<stored>);
    const std::byte* first = logits.data + (work.full_first * tile_columns - logits.columns.begin) * element;
    const bool aligned =
        plain && reinterpret_cast<std::uintptr_t>(first) % 16 == 0 && logits.pitch * element % 16 == 0;
    const std::int64_t resident = std::int64_t{multiprocessors()} * resident_blocks;
    const unsigned blocks = blocks_for(logits.rows * work.full_count, warps, resident);
    const Walk walk = make_walk(logits, work, blocks);
    TreeValue* values = scratch + work.full_at;
    if (aligned)
      full_tiles<stored, plain, plain>
          <<<blocks, threads, 0, stream>>>(first, walk, work.tiles, logits.rule, values);
    else
      full_tiles<stored, plain, false>
          <<<blocks, threads, 0, stream>>>(first, walk, work.tiles, logits.rule, values);
  }
  if (work.edge_count > 0) {
    const std::int64_t items = logits.rows * work.edge_count;
    edge_tiles<stored, plain><<<blocks_for(items, warps, items), threads, 0, stream>>>(logits, work, scratch);
  }
}

}  // namespace

void tree_sum(const LogitsView& logits, const TreeWork& work, std::int64_t slots, TreeValue* scratch,
              TreeValue* out, cudaStream_t stream) {
  if (logits.rows == 0 || slots == 0) return;
  for_rule(logits.rule, [&](auto stored, auto plain) {
    launch_tiles<stored.value, plain.value>(logits, work, scratch, stream);
  });
  const std::int64_t items = logits.rows * slots;
  fold_tiles<<<blocks_for(items, warps, items), threads, 0, stream>>>(work, logits.rows, slots, scratch, out);
}

}  // namespace drift::cuda
