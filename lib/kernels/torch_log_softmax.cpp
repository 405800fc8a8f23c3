#include "kernels/torch_log_softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/instruction_set.hpp"

namespace drift::cpu {
namespace {

constexpr std::int64_t threads = 1024, vector = 4, warp = 32;
constexpr std::int64_t widest_in_shared_memory = 12255;

/// What lane 0 holds after shuffle-downs by 16, 8, 4, 2, 1.
float fold_warp(float* lanes) {
  for (std::int64_t half = warp / 2; half > 0; half /= 2)
    for (std::int64_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes[0];
}

/// Sum of terms[0, vocab) in the order of the block of threads; `shift` elements before the row's start are
/// aligned.
float block_sum(const float* terms, std::int64_t vocab, std::int64_t shift) {
  float sums[threads]{};
  std::int64_t at = 0;
  if (shift > 0) {
    at = threads - shift;
    for (std::int64_t i = shift; i < threads; ++i) sums[i] += terms[i - shift];
  }
  const bool shared_memory = vocab <= widest_in_shared_memory && vocab % vector == 0;
  const std::int64_t left = vocab - at;
  const std::int64_t in_vectors = shared_memory ? left : left - left % (vector * threads);
  for (std::int64_t i = 0; i < in_vectors; ++i) sums[i / vector % threads] += terms[at + i];
  for (std::int64_t i = in_vectors; i < left; ++i) sums[(i - in_vectors) % threads] += terms[at + i];

  float warps[warp];
  for (std::int64_t w = 0; w < threads / warp; ++w) warps[w] = fold_warp(sums + w * warp);
  return fold_warp(warps);
}

}  // namespace

void torch_log_softmax(const float* values, std::int64_t rows, std::int64_t vocab,
                       const std::int64_t* row_index, const std::int64_t* targets, RowResult out) {
  std::vector<float> terms(static_cast<std::size_t>(vocab));
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* x = values + r * vocab;
    float max = std::numeric_limits<float>::lowest();
    for (std::int64_t i = 0; i < vocab; ++i) max = x[i] > max ? x[i] : max;
    exp_minus(x, vocab, max, terms.data());
    const float log_sum = std::log(block_sum(terms.data(), vocab, row_index[r] * vocab % vector));
    out.lse[r] = max + log_sum;
    out.logp[r] = targets[r] < 0 ? std::numeric_limits<float>::quiet_NaN() : (x[targets[r]] - max) - log_sum;
  }
}

}  // namespace drift::cpu
