#pragma once

// The fixed tree as plainly as it can be written, from its definition alone: every leaf with its own
// exponent, every sum by exact integers, recursion over (level, index). Slow and obvious; shares nothing with
// lib/kernels/fixed_tree.hpp.

#include <cmath>
#include <cstdint>
#include <vector>

namespace golden {

/// Zero (s = 0), or s * 2^n with s in [1, 2).
struct Node {
  float s = 0;
  long n = 0;
};

inline float polynomial(float r) {
  const float coefficients[] = {
      0x1.470b48p-13f, 0x1.5f7276p-10f, 0x1.3b270ep-7f, 0x1.c6ae72p-5f, 0x1.ebfbe2p-3f, 0x1.62e432p-1f, 1.0f};
  float p = coefficients[0];
  for (int i = 1; i < 7; ++i) p = std::fmaf(p, r, coefficients[i]);
  return p;
}

/// p * 2^n with p brought into [1, 2).
inline Node normalise(float p, long n) {
  int exponent = 0;
  const float half = std::frexp(p, &exponent);  // in [0.5, 1)
  return {2 * half, n + exponent - 1};
}

inline Node leaf(float x) {
  if (x < -0x1p30f) return {};
  if (std::fabs(x) <= 0x1p16f) {
    const long own = std::lrint(static_cast<double>(x) * 1.4426950408889634);
    const float m = 12582912.0f - static_cast<float>(own);
    const float t = std::fmaf(x, 0x1.715476p+0f, m);
    const float n = t - m;
    float r = std::fmaf(x, 0x1.715476p+0f, -n);
    r = std::fmaf(x, 0x1.4ae0bep-26f, r);
    return normalise(polynomial(r), static_cast<long>(n));
  }
  const double y = static_cast<double>(x) * 0x1.7154765p+0, z = static_cast<double>(x) * 0x1.5c17f0bbbe88p-31;
  const double n = std::rint(y + z);
  return normalise(polynomial(static_cast<float>((y - n) + z)), static_cast<long>(n));
}

/// a + b as an exact integer multiple of b's last place, then cut to 24 bits, ties to even.
inline Node add(Node a, Node b) {
  if (a.s == 0) return b;
  if (b.s == 0) return a;
  if (a.n < b.n) return add(b, a);
  const long apart = a.n - b.n;
  if (apart >= 25) return a;
  const auto whole = [](float s) { return static_cast<std::uint64_t>(std::ldexp(s, 23)); };  // 24 bits
  const std::uint64_t sum = (whole(a.s) << apart) + whole(b.s);  // at most 50 bits
  int bits = 0;
  while ((sum >> bits) != 0) ++bits;
  const int drop = bits - 24;
  const std::uint64_t rest = sum & ((std::uint64_t{1} << drop) - 1), half = (std::uint64_t{1} << drop) / 2;
  std::uint64_t kept = sum >> drop;
  if (drop > 0 && (rest > half || (rest == half && kept % 2 == 1))) ++kept;
  return normalise(static_cast<float>(kept), b.n - 23 + drop);
}

/// Node (level, index) of the tree over x: columns [index << level, (index + 1) << level).
inline Node node(const std::vector<float>& x, int level, std::int64_t index) {
  if ((index << level) >= static_cast<std::int64_t>(x.size())) return {};
  if (level == 0) return leaf(x[static_cast<std::size_t>(index)]);
  return add(node(x, level - 1, 2 * index), node(x, level - 1, 2 * index + 1));
}

inline Node root(const std::vector<float>& x) {
  int level = 0;
  while ((std::int64_t{1} << level) < static_cast<std::int64_t>(x.size())) ++level;
  return node(x, level, 0);
}

/// log of a node in long double: far better than the fp64 that the tree's end asks for.
inline long double log(Node a) {
  return std::log(static_cast<long double>(a.s)) +
         static_cast<long double>(a.n) * 0.693147180559945309417232121458L;
}

}  // namespace golden
