#pragma once

// A node of the fixed tree by one warp, whatever its values are: any width up to a tile, any dtype, masks,
// any spread. The fast kernel of tree_sum.cu comes here for what it cannot do itself.

#include <cmath>

#include "kernels/elements.cuh"
#include "kernels/fixed_tree.hpp"
#include "kernels/tree_plan.hpp"

namespace drift::cuda {

inline constexpr int lane_columns = 8;                   ///< adjacent columns that a lane owns of a group
inline constexpr int group_columns = 32 * lane_columns;  ///< columns of a warp's group
inline constexpr int tile_columns = 1 << tile_level;
inline constexpr int tile_groups = tile_columns / group_columns;

/// Tree over eight leaves.
template <class T, class Add>
__device__ T tree_of_eight(const T (&x)[8], Add add) {
  return add(add(add(x[0], x[1]), add(x[2], x[3])), add(add(x[4], x[5]), add(x[6], x[7])));
}

struct AddFloats {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct MergeValues {
  __device__ TreeValue operator()(TreeValue a, TreeValue b) const { return fixed_tree::merge(a, b); }
};

inline __device__ float from_lane_xor(float value, int bit) { return __shfl_xor_sync(~0u, value, bit); }
inline __device__ TreeValue from_lane_xor(TreeValue value, int bit) {
  return {__shfl_xor_sync(~0u, value.s, bit), __shfl_xor_sync(~0u, value.n, bit)};
}

/// Tree over the first `lanes` (a power of two) lanes; the result is on each of them.
template <class T, class Add>
__device__ T tree_over_lanes(T value, int lanes, Add add) {
  for (int bit = 1; bit < lanes; bit *= 2) value = add(value, from_lane_xor(value, bit));
  return value;
}

/// This lane's eight values of the group that begins at `begin`; -inf where the node has no real column.
template <Dtype stored, bool plain>
__device__ void load_lane(const std::byte* node, int count, int begin, const ValueRule& rule, float (&x)[8]) {
  using Bits = StoredBits<stored>;
  const int first = begin + static_cast<int>(threadIdx.x) % 32 * lane_columns;
  if (first + lane_columns <= count) {
    Bits bits[8];
    load_eight(node + first * static_cast<int>(sizeof(Bits)), bits);
    for (int j = 0; j < 8; ++j) x[j] = value<stored, plain>(bits[j], rule);
  } else {
    for (int j = 0; j < 8; ++j)
      x[j] = first + j < count
                 ? value<stored, plain>(load<Bits>(node + (first + j) * static_cast<int>(sizeof(Bits))), rule)
                 : -INFINITY;
  }
}

/// Sum over the node, with `leaf` making T from a value: leaves by lane, lanes by group, groups.
template <Dtype stored, bool plain, class T, class Leaf, class Add>
__device__ T sum_node(const std::byte* node, int count, const ValueRule& rule, Leaf leaf, Add add) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  T of_group{};  // group g's sum, on lane g
#pragma unroll 1
  for (int group = 0; group * group_columns < count; ++group) {
    float x[8];
    load_lane<stored, plain>(node, count, group * group_columns, rule, x);
    T leaves[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) leaves[j] = leaf(x[j]);
    const T sum = tree_over_lanes(tree_of_eight(leaves, add), 32, add);
    if (lane == group) of_group = sum;
  }
  return tree_over_lanes(of_group, tile_groups, add);
}

/// The value of a node of at most a tile whose real columns are `count` elements from `node` on; on lane 0.
/// All 32 lanes call it with the same arguments.
template <Dtype stored, bool plain>
__device__ __noinline__ TreeValue node_value(const std::byte* node, int count, ValueRule rule) {
  float min = INFINITY, max = -INFINITY;
  for (int group = 0; group * group_columns < count; ++group) {
    float x[8];
    load_lane<stored, plain>(node, count, group * group_columns, rule, x);
    for (int j = 0; j < 8; ++j) {
      if (x[j] > -INFINITY) min = fminf(min, x[j]);
      max = fmaxf(max, x[j]);
    }
  }
  for (int bit = 1; bit < 32; bit *= 2) {
    min = fminf(min, from_lane_xor(min, bit));
    max = fmaxf(max, from_lane_xor(max, bit));
  }
  const fixed_tree::TileScale scale = fixed_tree::tile_scale(min, max);
  if (scale.shared) {
    const float magic = fixed_tree::scale_magic(scale.n);
    const float sum = sum_node<stored, plain, float>(
        node, count, rule, [magic](float x) { return fixed_tree::scaled_leaf_or_zero(x, magic); },
        AddFloats{});
    return fixed_tree::normalised(sum, scale.n);
  }
  return sum_node<stored, plain, TreeValue>(
      node, count, rule, [](float x) { return fixed_tree::leaf(x); }, MergeValues{});
}

}  // namespace drift::cuda
