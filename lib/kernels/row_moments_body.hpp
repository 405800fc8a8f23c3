#pragma once

// The bodies of row_moments and exp_below that instruction_set.hpp's files compile: plain loops that
// vectorise.

#include <algorithm>
#include <limits>

#include "kernels/moment_math.hpp"
#include "kernels/read_values.hpp"
#include "kernels/row_moments.hpp"
#include "kernels/views.hpp"

namespace drift::cpu {

/// One row's accumulators, and room for a stretch of its values.
struct MomentScratch {
  static constexpr int apart =
      moments::lanes + 16;  // not 4096 bytes: CPUs compare addresses by their low 12 bits first
  alignas(64) double sum[apart], first[apart], square[apart], noise[apart];
  alignas(64) float x[apart], widened[apart];
};

/// The largest of x[0, lanes); NaN is passed over.
inline float largest_of(const float* x) {
  constexpr int width = 32;  // maxima side by side; their order does not matter
  float largest[width];
  std::fill(largest, largest + width, -std::numeric_limits<float>::infinity());
  for (int i = 0; i < moments::lanes; i += width)
    for (int j = 0; j < width; ++j) largest[j] = x[i + j] > largest[j] ? x[i + j] : largest[j];
  float out = largest[0];
  for (int j = 1; j < width; ++j) out = largest[j] > out ? largest[j] : out;
  return out;
}

/// Adds lanes columns, one to each accumulator. `plain`: a value is what is stored, and `widened` is not
/// read.
template <bool plain>
inline void add_terms(const float* __restrict x, const float* __restrict widened, double max, double least,
                      MomentScratch& to) {
  for (int i = 0; i < moments::lanes; ++i) {
    const moments::Term term = moments::term_of(x[i], max);
    const double root = term.e * moments::power_of_two(plain ? x[i] : widened[i], least);
    to.sum[i] += term.e;
    to.first[i] = __builtin_fma(term.e, term.d, to.first[i]);
    to.square[i] = __builtin_fma(term.e, term.e, to.square[i]);
    to.noise[i] = __builtin_fma(root, root, to.noise[i]);
  }
}

/// a[0] = the sum of a[0, lanes), folded in halves.
inline double folded(double* a) {
  for (int half = moments::lanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) a[i] += a[i + half];
  return a[0];
}

inline RowMoments moments_of_row(const LogitsView& logits, const std::byte* row, MomentScratch& scratch) {
  constexpr float nothing = -std::numeric_limits<float>::infinity();
  constexpr std::int64_t lanes = moments::lanes;
  const ValueRule& rule = logits.rule;
  const std::int64_t count = logits.real().size(), bytes = logits.bytes_per_element();
  const auto read = [&](std::int64_t at) {  // the stretch at column `at`, -inf beyond the row's end
    const std::int64_t length = std::min(lanes, count - at);
    read_values(rule, row + at * bytes, length, scratch.x);
    std::fill(scratch.x + length, scratch.x + lanes, nothing);
    return length;
  };

  float max = nothing;
  std::int64_t argmax = -1;
  for (std::int64_t at = 0; at < count; at += lanes) {
    read(at);
    const float largest = largest_of(scratch.x);
    if (largest > max) {
      max = largest;
      argmax = at;  // where its stretch begins, so far
    }
  }
  if (argmax < 0) return moments::finished({}, nothing, -1, 0.0f, rule);
  read(argmax);
  argmax += std::find(scratch.x, scratch.x + lanes, max) - scratch.x;
  float of_max = 0;
  widen_values(rule.stored, row + argmax * bytes, 1, &of_max);

  std::fill(scratch.sum, scratch.sum + lanes, 0.0);
  std::fill(scratch.first, scratch.first + lanes, 0.0);
  std::fill(scratch.square, scratch.square + lanes, 0.0);
  std::fill(scratch.noise, scratch.noise + lanes, 0.0);
  std::fill(scratch.widened, scratch.widened + lanes, 0.0f);
  const double least = moments::least_power(rule.stored);
  const bool plain = rule.is_plain();
  for (std::int64_t at = 0; at < count; at += lanes) {
    const std::int64_t length = read(at);
    if (!plain) widen_values(rule.stored, row + at * bytes, length, scratch.widened);
    if (at <= argmax && argmax < at + lanes) scratch.x[argmax - at] = nothing;
    if (plain)
      add_terms<true>(scratch.x, scratch.widened, static_cast<double>(max), least, scratch);
    else
      add_terms<false>(scratch.x, scratch.widened, static_cast<double>(max), least, scratch);
  }
  const moments::Sums tail{folded(scratch.sum), folded(scratch.first), folded(scratch.square),
                           folded(scratch.noise)};
  return moments::finished(tail, max, logits.real().begin + argmax, of_max, rule);
}

inline void row_moments_body(const LogitsView& logits, RowMoments* out) {
  MomentScratch scratch;
  for (std::int64_t r = 0; r < logits.rows; ++r) out[r] = moments_of_row(logits, logits.row(r), scratch);
}

inline void exp_below_body(const float* x, std::int64_t count, float max, double* out) {
  const double wide = static_cast<double>(max);
  for (std::int64_t i = 0; i < count; ++i) out[i] = moments::term_of(x[i], wide).e;
}

}  // namespace drift::cpu
