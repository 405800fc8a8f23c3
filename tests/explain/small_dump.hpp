#pragma once

// A small random dump, what a faulty program would have recorded of it, and the survey of it: brute force in
// fp64, with nothing of lib/explain's tables in it.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "explain/explain.hpp"
#include "topology/shard.hpp"

namespace drift::test {

struct SmallDump {
  std::int64_t batch = 4, sequence = 24, vocab = 200, padded = 256, prompt = 5;
  float temperature = 0.7f;
  int tp = 2;
  Dtype dtype = Dtype::BF16;
  std::uint64_t seed = 0;
  std::vector<std::vector<float>> logits;  // [rows][padded]
  std::vector<std::int64_t> targets;
  std::vector<std::uint8_t> use;
  std::int64_t rows() const { return batch * sequence; }
};

inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

inline SmallDump make_dump(std::uint64_t seed, SmallDump dump = {}) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, 2.5);
  dump.seed = seed;
  for (std::int64_t r = 0; r < dump.rows(); ++r) {
    std::vector<float> row;
    for (std::int64_t c = 0; c < dump.padded; ++c)
      row.push_back(rounded_to(dump.dtype, static_cast<float>(normal(random))));
    std::vector<double> weights;
    for (std::int64_t c = 0; c < dump.vocab; ++c)
      weights.push_back(std::exp(static_cast<double>(row[at(c)]) / static_cast<double>(dump.temperature)));
    dump.targets.push_back(std::discrete_distribution<std::int64_t>(weights.begin(), weights.end())(random));
    dump.logits.push_back(std::move(row));
    dump.use.push_back(r % dump.sequence >= dump.prompt);
  }
  return dump;
}

inline double log_sum(const std::vector<double>& x) {
  double max = -HUGE_VAL, sum = 0;
  for (const double v : x) max = std::fmax(max, v);
  if (max == -HUGE_VAL) return max;
  for (const double v : x) sum += std::exp(v - max);
  return max + std::log(sum);
}

inline double stored_ulp(Dtype dtype, float x) {
  const int bits = dtype == Dtype::BF16 ? 7 : dtype == Dtype::F16 ? 10 : 23;
  return x == 0.0f ? 0 : std::ldexp(1.0, std::ilogb(x) - bits);
}

/// The parameters that a planted fault with a number has.
struct Plant {
  std::set<std::string> ids;
  float wrong_temperature = 0.85f;
  Truncation truncation{20, 1, 0};
  bool has(const std::string& id) const { return ids.contains(id); }
  int number(const std::string& stem, int otherwise = 0) const {
    for (const std::string& id : ids)
      if (id.starts_with(stem)) return std::stoi(id.substr(stem.size()));
    return otherwise;
  }
};

/// Sorted descending: what of the row the truncation keeps; ties are kept together (logits are many-valued
/// here).
inline double kept_floor(std::vector<double> x, const Truncation& truncation) {
  if (truncation.is_off()) return -HUGE_VAL;
  std::sort(x.begin(), x.end(), std::greater<>());
  double floor = -HUGE_VAL;
  if (truncation.top_k > 0)
    floor = x[at(std::min<std::int64_t>(truncation.top_k, static_cast<std::int64_t>(x.size())) - 1)];
  const double lse = log_sum(x);
  double mass = 0;
  for (std::size_t i = 0; i < x.size() && truncation.top_p < 1; ++i) {
    mass += std::exp(x[i] - lse);
    if (mass >= truncation.top_p) {
      floor = std::fmax(floor, x[i]);
      break;
    }
  }
  for (const double v : x)
    if (truncation.min_p > 0 && std::exp(v - x[0]) < truncation.min_p) {
      floor = std::fmax(floor, std::nextafter(v, HUGE_VAL));
      break;
    }
  return floor;
}

}  // namespace drift::test
