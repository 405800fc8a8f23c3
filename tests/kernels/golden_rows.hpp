#pragma once

// The rows behind golden_tree.tsv: what decides bits in a tree of sums. Made by integers and by
// golden_tree.hpp, so that they are the same everywhere.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kernels/golden_tree.hpp"

namespace golden {

struct Row {
  std::string name;
  std::vector<float> x;
};

/// splitmix64: a fixed sequence from a seed.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t operator()() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// Bell-shaped, mean 0, standard deviation 1 or so; a multiple of 2^-15.
  float bell() {
    const std::uint64_t z = (*this)();
    const auto part = [z](int at) { return static_cast<std::int64_t>((z >> at) & 0xffff); };
    return static_cast<float>(part(0) + part(16) + part(32) + part(48) - 131070) * 0x1p-15f;
  }
  float uniform(float low, float high) {
    return low + (high - low) * (static_cast<float>((*this)() >> 40) * 0x1p-24f);
  }

 private:
  std::uint64_t state_;
};

inline constexpr float minus_inf = -std::numeric_limits<float>::infinity();

inline float to_bf16(float x) {  // toward zero: the rows need bf16 values, not a rounding
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0xffff0000u);
}

/// Two leaves whose sum is exactly 2^n.
struct PowerPair {
  float first, second;
};
inline PowerPair power_of_two(long n) {
  const double ln2 = 0.6931471805599453;
  float first = static_cast<float>((static_cast<double>(n) - 1) * ln2);
  for (;; first = std::nextafterf(first, 1e9f)) {
    const Node a = leaf(first);
    const double wanted = 1 - std::ldexp(static_cast<double>(a.s), static_cast<int>(a.n - n));  // of 2^n
    const float guess = static_cast<float>((static_cast<double>(n) + std::log2(wanted)) * ln2);
    for (const float second : {guess, std::nextafterf(guess, 1e9f), std::nextafterf(guess, -1e9f)}) {
      const Node b = leaf(second);
      if (std::ldexp(static_cast<double>(b.s), static_cast<int>(b.n - n)) == wanted) return {first, second};
    }
  }
}

/// Sums that are ties, each decided by the next: the root is 2^top + (2^(top-24) + (2^(top-48) + ... +
/// 2^last)), nested to the right. `last` is less than 24 below its neighbour, so it breaks that tie, which
/// breaks the next, up to the root.
inline std::vector<float> tie_chain(long top, long last, std::size_t spacing) {
  std::vector<long> powers;
  for (long n = top; n > last; n -= 24) powers.push_back(n);
  powers.push_back(last);
  std::vector<float> x(spacing << powers.size(), minus_inf);
  std::size_t at = 0, half = x.size() / 2;
  for (const long n : powers) {
    const PowerPair pair = power_of_two(n);
    x[at] = pair.first;
    x[at + 1] = pair.second;
    at += half;
    half /= 2;
  }
  return x;
}

inline std::vector<Row> special_rows() {
  constexpr float lowest = std::numeric_limits<float>::lowest();
  std::vector<Row> rows{
      {"one column, zero", {0.0f}},
      {"one column, minus zero", {-0.0f}},
      {"one column, 3.5", {3.5f}},
      {"one column, -1e4", {-1e4f}},
      {"one column, 2^30", {0x1p30f}},
      {"one column, -2^30", {-0x1p30f}},
      {"two columns", {1.0f, 2.0f}},
      {"three columns", {1.0f, 2.0f, 3.0f}},
      {"only masks", {lowest, -1e30f, minus_inf}},
      {"one leaf among masks", {lowest, minus_inf, -1e30f, 0.25f, minus_inf}},
      {"huge spread", {-1e9f, 1e9f, 0.0f, -70000.0f, 70000.0f, 65536.0f, -65536.0f, 5e8f}},
      {"f16's lowest as a mask", {-65504.0f, 1.5f, -65504.0f, -65504.0f, 0.5f}},
      {"just below one scale", {0.0f, -86.9f, -87.5f, -88.0f, -90.0f}},
      {"just above one scale", {-10.0f, 76.0f, 76.5f, 80.0f, 88.0f, 90.0f}},
      {"tie chain to 2^-130", tie_chain(0, -130, 1)},
      {"tie chain to 2^-130, wide", tie_chain(0, -130, 64)},
      {"tie chain to 2^-130, across tiles", tie_chain(0, -130, 512)},
      {"tie chain from 2^60 to 2^-70", tie_chain(60, -70, 2)},
      {"tie chain from 2^-200 to 2^-330", tie_chain(-200, -330, 1)},
      {"tie chain from 2^-9 to 2^-330", tie_chain(-9, -330, 1)},
  };
  std::vector<float> cut = tie_chain(0, -130, 512);  // without its last number all ties stay down
  std::replace_if(
      cut.begin() + static_cast<std::ptrdiff_t>(cut.size()) - 1024, cut.end(), [](float) { return true; },
      minus_inf);
  rows.push_back({"tie chain without its end, across tiles", cut});
  return rows;
}

inline std::vector<Row> random_rows() {
  std::vector<Row> rows;
  Random random(7);
  const auto add = [&rows](const std::string& name, std::size_t vocab, auto&& make) {
    Row row{name + ", V = " + std::to_string(vocab), std::vector<float>(vocab)};
    std::generate(row.x.begin(), row.x.end(), make);
    rows.push_back(row);
  };
  for (const std::size_t vocab : {2, 7, 100, 2047, 2048, 2049, 5000, 32000, 151669}) {
    add("bf16 N(0, 4)", vocab, [&] { return to_bf16(4 * random.bell()); });
    add("fp32 N(0, 12)", vocab, [&] { return 12 * random.bell(); });
  }
  add("shifted by 300", 9000, [&] { return 300 + 4 * random.bell(); });
  add("shifted by -5000", 9000, [&] { return -5000 + 4 * random.bell(); });
  add("every magnitude", 5000,
      [&] { return std::ldexp(random.bell(), static_cast<int>(random() % 57) - 29); });
  add("between 2^16 and 2^30", 5000, [&] { return random.uniform(0x1p16f, 0x1p30f); });
  add("around 2^20", 5000, [&] { return 0x1p20f + random.uniform(-8.0f, 8.0f); });
  add("wide tiles", 9000, [&] { return random.uniform(-200.0f, 60.0f); });
  add("half masked", 9000, [&] { return random() % 2 != 0 ? minus_inf : to_bf16(4 * random.bell()); });
  add("masked by lowest", 9000,
      [&] { return random() % 3 == 0 ? std::numeric_limits<float>::lowest() : to_bf16(4 * random.bell()); });
  add("masked by -10000", 9000, [&] { return random() % 3 == 0 ? -10000.0f : to_bf16(4 * random.bell()); });
  add("sharp", 9000, [&] { return random() % 4096 == 0 ? 30.0f : -12.0f; });
  return rows;
}

inline std::vector<Row> rows() {
  std::vector<Row> all = special_rows();
  for (Row& row : random_rows()) all.push_back(std::move(row));
  return all;
}

}  // namespace golden
