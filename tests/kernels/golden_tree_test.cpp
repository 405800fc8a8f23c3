// The golden vectors themselves, and fixed_tree.hpp's scalar arithmetic against them.

#include <array>
#include <bit>
#include <fstream>
#include <sstream>

#include "kernels/fixed_tree.hpp"
#include "kernels/golden_file.hpp"
#include "kernels/golden_rows.hpp"
#include "support/catch.hpp"

namespace {

using drift::TreeValue;
namespace fixed_tree = drift::fixed_tree;

TreeValue plain(golden::Node node) { return {node.s, static_cast<std::int32_t>(node.n)}; }

/// What a clamping implementation gives: one scale for the row, leaves below 2^-126 of it flushed to zero.
float clamped_sum(const std::vector<float>& x, std::size_t begin, std::size_t size) {
  if (size == 1) {
    const golden::Node leaf = golden::leaf(x[begin]);
    return leaf.n < -126 ? 0.0f : std::ldexp(leaf.s, static_cast<int>(leaf.n));
  }
  return clamped_sum(x, begin, size / 2) + clamped_sum(x, begin + size / 2, size / 2);
}

}  // namespace

TEST_CASE("golden: the committed bits are what the plain recursion gives") {
  const std::vector<golden::Row> rows = golden::rows();
  const std::vector<golden::Bits> bits = golden::read_bits();
  REQUIRE(rows.size() == bits.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    INFO(rows[i].name);
    CHECK(bits[i].name == rows[i].name);
    CHECK(bits[i] == golden::bits_of(rows[i]));
  }
}

// Run with the tag to write the file anew: only golden_tree.hpp and golden_rows.hpp go into it.
TEST_CASE("golden: write the committed bits", "[.write-golden]") {
  std::ofstream file(golden::file_name());
  golden::write_bits(file);
  REQUIRE(file.good());
}

TEST_CASE("golden: a tie chain tells an implementation that clamps at 2^-126") {
  const std::vector<float> x = golden::tie_chain(0, -130, 1);
  const golden::Node right = golden::root(x);
  CHECK(right.s == 1.0f + 0x1p-23f);  // the number at 2^-130 decides every tie above it
  CHECK(right.n == 0);
  CHECK(clamped_sum(x, 0, x.size()) == 1.0f);  // and clamping loses it
  CHECK(golden::root(golden::tie_chain(0, -120, 1)).s == 1.0f);
}

TEST_CASE("fixed_tree: leaves equal the plain leaf, of every magnitude and sign") {
  golden::Random random(11);
  for (int i = 0; i < 2000000; ++i) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!(x <= 0x1p30f)) continue;
    const TreeValue seen = fixed_tree::leaf(x), wanted = plain(golden::leaf(x));
    if (seen != wanted) {
      CAPTURE(x);
      CHECK(seen.s == wanted.s);
      REQUIRE(seen.n == wanted.n);
    }
  }
}

TEST_CASE("fixed_tree: sums equal exact integer sums cut to 24 bits") {
  golden::Random random(12);
  for (int i = 0; i < 2000000; ++i) {
    const std::uint64_t u = random(), v = random();
    const auto significand = [](std::uint64_t z) {  // often with few bits, so that ties happen
      const std::uint32_t bits = static_cast<std::uint32_t>(z) & 0x7fffffu;
      const std::uint32_t few = (z >> 32) % 3 == 0 ? 0x7fe000u : (z >> 32) % 3 == 1 ? 0x000003u : 0x7fffffu;
      return std::bit_cast<float>(0x3f800000u | (bits & few));
    };
    const TreeValue a{significand(u), static_cast<std::int32_t>((u >> 40) % 40)};
    const TreeValue b{significand(v), static_cast<std::int32_t>((v >> 40) % 40)};
    const TreeValue wanted = plain(golden::add({a.s, a.n}, {b.s, b.n}));
    REQUIRE(fixed_tree::merge(a, b) == wanted);
    REQUIRE(fixed_tree::merge(b, a) == wanted);
  }
}

TEST_CASE("fixed_tree: zero is the identity, and exponents may be as far apart as leaves can be") {
  const TreeValue zero, high = fixed_tree::leaf(0x1p30f), low = fixed_tree::leaf(-0x1p30f);
  CHECK(fixed_tree::merge(zero, high) == high);
  CHECK(fixed_tree::merge(low, zero) == low);
  CHECK(fixed_tree::merge(high, low) == high);
  CHECK(fixed_tree::merge(low, high) == high);
  CHECK(fixed_tree::merge(zero, zero) == zero);
  CHECK(high.n == 1549082004);
}

TEST_CASE("fixed_tree: masks, infinities and NaN are zero leaves") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const float x : {-infinity, std::numeric_limits<float>::lowest(), -0x1.000002p30f, infinity,
                        std::numeric_limits<float>::quiet_NaN()})
    CHECK(fixed_tree::leaf(x) == TreeValue{});
  CHECK(fixed_tree::leaf(-0x1p30f) != TreeValue{});
}

TEST_CASE("fixed_tree: a leaf is within 1.7 * 2^-24 of exp") {
  golden::Random random(13);
  double worst = 0;
  const auto check = [&worst](float x) {
    const TreeValue leaf = fixed_tree::leaf(x);
    const long double log2_leaf = std::log2(static_cast<long double>(leaf.s)) + leaf.n;
    const long double error = log2_leaf - static_cast<long double>(x) * 1.442695040888963407359924681L;
    worst = std::max(worst, static_cast<double>(std::fabs(error) * 0.693147180559945309L));
  };
  for (int i = 0; i < 300000; ++i) check(random.uniform(-100.0f, 100.0f));
  for (int i = 0; i < 100000; ++i) check(random.uniform(-0x1p16f, 0x1p16f));
  for (int i = 0; i < 100000; ++i) check(random.uniform(-0x1p30f, 0x1p30f));
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {  // every bf16 number
    const float x = std::bit_cast<float>(bits << 16);
    if (std::fabs(x) <= 0x1p30f) check(x);
  }
  CHECK(worst <= 1.7 * 0x1p-24);
  CHECK(worst >= 1.0 * 0x1p-24);  // else the measurement is wrong: the rounding alone is that much
}

TEST_CASE("fixed_tree: a tile's common scale changes no bit") {
  golden::Random random(14);
  for (int i = 0; i < 200000; ++i) {
    const float x = random.uniform(-2000.0f, 2000.0f);
    const std::int32_t n = fixed_tree::leaf_exponent(x);
    const auto reach = static_cast<std::int32_t>(random() % 236);
    const std::int32_t scale = n + fixed_tree::tile_reach_below - reach;  // n from scale - 125 to scale + 110
    const float scaled = fixed_tree::scaled_leaf(x, fixed_tree::scale_magic(scale));
    REQUIRE(scaled >= 0x1p-126f);
    REQUIRE(fixed_tree::normalised(scaled, scale) == fixed_tree::leaf(x));
  }
}

TEST_CASE("fixed_tree: a tile's scale holds all its leaves, or it has none") {
  golden::Random random(15);
  int shared = 0;
  for (int i = 0; i < 100000; ++i) {
    const float a = random.uniform(-300.0f, 300.0f), b = random.uniform(-300.0f, 300.0f);
    const float low = std::min(a, b), high = std::max(a, b);
    const fixed_tree::TileScale scale = fixed_tree::tile_scale(low, high);
    const std::int32_t lowest = fixed_tree::leaf_exponent(low), highest = fixed_tree::leaf_exponent(high);
    shared += scale.shared;
    if (scale.shared) {
      REQUIRE(lowest >= scale.n - fixed_tree::tile_reach_below);
      REQUIRE(highest <= scale.n + fixed_tree::tile_reach_above);
    } else {
      REQUIRE(highest - lowest > fixed_tree::tile_reach_below);
    }
  }
  CHECK(shared > 1000);
  CHECK(fixed_tree::tile_scale(1.0f, 0.0f).shared);  // no leaf at all
  CHECK_FALSE(fixed_tree::tile_scale(-70000.0f, 0.0f).shared);
  CHECK_FALSE(fixed_tree::tile_scale(0.0f, std::numeric_limits<float>::infinity()).shared);
  CHECK(fixed_tree::leaf_exponent(fixed_tree::tile_symmetric_limit) <= fixed_tree::tile_reach_above);
}

TEST_CASE("fixed_tree: log of every significand is within 2^-48") {
  double worst = 0;
  for (std::uint32_t i = 0; i < 1u << 23; ++i) {
    const float s = std::bit_cast<float>(0x3f800000u | i);
    const long double error =
        static_cast<long double>(fixed_tree::log_of_significand(s)) - std::log(static_cast<long double>(s));
    worst = std::max(worst, static_cast<double>(std::fabs(error)));
  }
  CAPTURE(std::log2(worst));
  CHECK(worst <= 0x1p-48);
  CHECK(fixed_tree::log_of_significand(1.0f) == 0.0);
}

TEST_CASE("fixed_tree: log-prob is never above zero, and zero is +0") {
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  CHECK(bits(fixed_tree::log_prob_of(1.0f, 1.0)) == 0);
  CHECK(bits(fixed_tree::log_prob_of(1.0f, 0.5)) == 0);
  CHECK(bits(fixed_tree::log_prob_of(0.0f, 1e-60)) == 0);  // underflows from below
  CHECK(bits(fixed_tree::lse_of(-1e-60)) == 0);
  CHECK(fixed_tree::log_prob_of(1.0f, 3.0) == -2.0f);
  CHECK(fixed_tree::log_of(TreeValue{}) == -std::numeric_limits<double>::infinity());
  CHECK(fixed_tree::log_of(TreeValue{1.0f, 0}) == 0.0);
}

TEST_CASE("fixed_tree: a fold of leaves in column order is the recursion") {
  for (const golden::Row& row : golden::rows()) {
    if (row.x.size() > 5000) continue;
    INFO(row.name);
    fixed_tree::Fold fold;
    for (std::size_t i = 0; i < row.x.size(); ++i)
      fold.push(0, static_cast<std::int64_t>(i), fixed_tree::leaf(row.x[i]));
    CHECK(fold.finish() == plain(golden::root(row.x)));
    CHECK(fold.finish() == TreeValue{});  // empty again
  }
}
