#include "kernels/kept_set.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "kernels/instruction_set.hpp"
#include "kernels/moment_math.hpp"
#include "kernels/read_values.hpp"

namespace drift {
namespace {

constexpr float nothing = -std::numeric_limits<float>::infinity();
constexpr double equal_mass =
    0x1p-20;  ///< masses this close to top_p, or this share around min_p, count as equal

/// A column's place in the ranking as one number, greatest first: the value's bits made to order like values,
/// then its position, which rises with its number.
std::uint64_t rank_key(float x, std::uint32_t position) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x + 0.0f);  // -0 ties with +0
  const std::uint32_t ordered = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
  return static_cast<std::uint64_t>(ordered) << 32 | position;
}

/// The k-th largest of `values`, 0 < k <= their number.
float kth_largest(std::span<const float> values, std::int64_t k) {
  std::vector<float> largest(values.begin(),
                             values.begin() + k);  // a heap, its least on top: most values only meet that
  std::make_heap(largest.begin(), largest.end(), std::greater<>());
  for (const float x : values.subspan(static_cast<std::size_t>(k))) {
    if (x <= largest.front()) continue;
    std::pop_heap(largest.begin(), largest.end(), std::greater<>());
    largest.back() = x;
    std::push_heap(largest.begin(), largest.end(), std::greater<>());
  }
  return largest.front();
}

/// Cuts what `threshold` (whole ties: first_tied is 0) keeps down to the mass top_p.
void cut_by_mass(std::span<const float> values, float max, double top_p, KeptThreshold& threshold) {
  std::vector<float> left;
  std::vector<std::uint32_t> columns;
  for (std::size_t v = 0; v < values.size(); ++v) {
    if (values[v] < threshold.value || values[v] == nothing) continue;
    left.push_back(values[v]);
    columns.push_back(static_cast<std::uint32_t>(v));
  }
  std::vector<double> mass(left.size());
  cpu::exp_below(left.data(), static_cast<std::int64_t>(left.size()), max, mass.data());
  std::vector<std::uint64_t> heap;
  heap.reserve(left.size());
  double total = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    heap.push_back(rank_key(left[i], static_cast<std::uint32_t>(i)));
    total += mass[i];
  }
  std::make_heap(heap.begin(), heap.end());
  std::size_t last = 0;  // the one ranked lowest of those taken
  double above = 0;
  do {
    last = heap.front() & 0xffffffffu;
    std::pop_heap(heap.begin(), heap.end());
    heap.pop_back();
    above += mass[last];
  } while (!heap.empty() && above < (top_p - equal_mass) * total);
  if (heap.empty()) return;  // all of them stay, and so does what `threshold` said
  threshold.value = left[last];
  threshold.first_tied = columns[last];
  threshold.kept = static_cast<std::int32_t>(left.size() - heap.size());
  if (above <= (top_p + equal_mass) * total) threshold.at_boundary = 1;
}

/// Calls visit(-inf as the dtype stores it).
template <class Visit>
void for_bits(Dtype stored, Visit visit) {
  switch (stored) {
    case Dtype::BF16: return visit(std::uint16_t{0xff80u});
    case Dtype::F16: return visit(std::uint16_t{0xfc00u});
    case Dtype::F64: return visit(std::uint64_t{0xfff0000000000000u});
    default: return visit(std::uint32_t{0xff800000u});
  }
}

/// How many elements of `row` are real columns.
std::int64_t real_columns(Dtype stored, std::int64_t first_column, std::int64_t vocab,
                          std::span<std::byte> row) {
  const std::int64_t in_row = static_cast<std::int64_t>(row.size()) / bytes(stored);
  return std::clamp(vocab - first_column, std::int64_t{0}, in_row);
}

template <class Bits>
void store(std::byte* data, std::int64_t i, Bits bits) {
  std::memcpy(data + i * static_cast<std::int64_t>(sizeof(Bits)), &bits, sizeof(Bits));
}

}  // namespace

KeptThreshold kept_threshold(std::span<const float> values, const Truncation& truncation) {
  require(values.size() <= 0x7fffffffu, Fault::input,
          "the vocabulary is too large for top-k, top-p and min-p, seen " + std::to_string(values.size()) +
              " columns, wanted at most 2147483647");
  KeptThreshold out;
  out.kept = static_cast<std::int32_t>(values.size());
  if (truncation.is_off()) return out;
  float max = nothing;
  bool numbers = true;  // neither NaN nor +inf
  for (const float x : values) {
    numbers &= x <= value_ceiling;
    max = x > max ? x : max;
  }
  if (!numbers || max == nothing) return out;

  const auto count = static_cast<std::int64_t>(values.size());
  if (truncation.min_p >=
      std::numeric_limits<double>::min()) {  // less than that keeps all that fp64 can tell from 0
    const double floor = static_cast<double>(max) + std::min(0.0, moments::log_of_positive(truncation.min_p));
    float least = max;
    for (const float x : values) {
      const double above = static_cast<double>(x) - floor;
      if (above >= -equal_mass && x < least) least = x;
      if (above >= -equal_mass && above <= equal_mass && x < max) out.at_boundary = 1;
    }
    out.value = least;
  }
  if (truncation.top_k > 0 && truncation.top_k < count)
    out.value = std::max(out.value, kth_largest(values, truncation.top_k));
  out.kept = static_cast<std::int32_t>(
      std::count_if(values.begin(), values.end(), [&](float x) { return x >= out.value; }));
  if (truncation.top_p < 1) cut_by_mass(values, max, truncation.top_p, out);
  return out;
}

double kept_lse(std::span<const float> values, const Truncation& truncation) {
  const KeptThreshold threshold = truncation.is_off() ? KeptThreshold{} : kept_threshold(values, truncation);
  double max = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const float value : values) max = std::fmax(max, static_cast<double>(value));
  for (std::size_t v = 0; v < values.size(); ++v)
    if (threshold.keeps(values[v], static_cast<std::int64_t>(v)))
      sum += std::exp(static_cast<double>(values[v]) - max);
  return max + std::log(sum);
}

void drop_below(const KeptThreshold& threshold, const ValueRule& rule, std::int64_t first_column,
                std::int64_t vocab, std::span<std::byte> row) {
  if (threshold.value == nothing && threshold.first_tied == 0) return;
  constexpr std::int64_t chunk = 2048;
  const std::int64_t count = real_columns(rule.stored, first_column, vocab, row);
  for_bits(rule.stored, [&](auto minus_inf) {
    using Bits = decltype(minus_inf);
    float x[chunk];
    for (std::int64_t at = 0; at < count; at += chunk) {
      const std::int64_t length = std::min(chunk, count - at);
      std::byte* data = row.data() + at * static_cast<std::int64_t>(sizeof(Bits));
      cpu::read_values(rule, data, length, x);
      for (std::int64_t i = 0; i < length; ++i) {
        const bool keep = threshold.keeps(x[i], first_column + at + i);
        store(data, i, keep ? cpu::load<Bits>(data, i) : minus_inf);
      }
    }
  });
}

void drop_others(std::span<const std::int64_t> kept, Dtype stored, std::int64_t first_column,
                 std::span<std::byte> row, std::int64_t vocab) {
  const std::int64_t count = real_columns(stored, first_column, vocab, row);
  for_bits(stored, [&](auto minus_inf) {
    auto next = std::lower_bound(kept.begin(), kept.end(), first_column);
    for (std::int64_t i = 0; i < count; ++i) {
      while (next != kept.end() && *next < first_column + i) ++next;
      if (next == kept.end() || *next != first_column + i) store(row.data(), i, minus_inf);
    }
  });
}

}  // namespace drift
