// Every registered formula, enrolled because its file exists: within its own bound of exact arithmetic, and each of its
// claims checked by comparing bits. Ranks are threads; the same formulas run over MPI and NCCL in the cases.

#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <mutex>
#include <random>

#include "backend/cpu_backend.hpp"
#include "base/ulp.hpp"
#include "formulas/formula.hpp"
#include "support/catch.hpp"
#include "support/thread_world.hpp"

using namespace drift;

namespace {

constexpr std::int64_t vocab = 10007, rows = 48;  // odd, above the 9216 columns that torch's order begins at

struct Results {
  std::vector<std::uint32_t> lse, logp;  // bits, by row number
  friend bool operator==(const Results&, const Results&) = default;
};

/// What one run is made of; the defaults are the reference that claims are measured against.
struct Setting {
  VocabBounds bounds = even_bounds(vocab, 1);
  std::vector<std::int64_t> row_numbers;  // of the problem's rows
  std::int64_t chunk = rows;
  std::int64_t shift = 0;  // added to each row's number in the dump
};

struct Problem {
  std::vector<std::uint16_t> logits;  // [rows][vocab] bf16
  std::vector<std::int64_t> targets;
};

Problem make_problem() {
  std::mt19937_64 bits(20260101);
  std::normal_distribution<float> normal(0.0f, 4.0f);
  Problem out;
  for (std::int64_t r = 0; r < rows; ++r) {
    const float scale = std::array{0.25f, 0.5f, 1.0f, 3.0f}[static_cast<std::size_t>(r % 4)];  // flat to sharp
    std::int64_t peak = 0;
    const auto at = [&](std::int64_t c) { return widen_bf16(out.logits[static_cast<std::size_t>(r * vocab + c)]); };
    for (std::int64_t c = 0; c < vocab; ++c) {
      out.logits.push_back(round_bf16(normal(bits) * scale));
      if (at(c) > at(peak)) peak = c;
    }
    // A confident target's log-prob is -log S itself, small, where a different order of S shows.
    out.targets.push_back(r % 2 ? peak : static_cast<std::int64_t>(bits() % vocab));
  }
  out.targets[5] = -1;  // an inactive row
  for (std::int64_t c = 0; c < vocab; c += 3)  // a masked row
    out.logits[static_cast<std::size_t>(7 * vocab + c)] = 0xff80;
  out.targets[7] = 1;
  return out;
}

const Problem& problem() {
  static const Problem one = make_problem();
  return one;
}

/// One rank's shard of some rows, padded columns full of a value that would be noticed.
std::vector<std::uint16_t> shard_of(Range columns, const std::vector<std::int64_t>& numbers) {
  std::vector<std::uint16_t> out;
  for (const std::int64_t r : numbers)
    for (std::int64_t c = columns.begin; c < columns.end; ++c)
      out.push_back(c < vocab ? problem().logits[static_cast<std::size_t>(r * vocab + c)] : 0x4300);  // 128.0
  return out;
}

Results run(const Formula& formula, const Setting& setting) {
  Results out;
  std::mutex mutex;
  test::ThreadWorld(setting.bounds.tp()).run([&](Control& world) {
    const auto on = make_cpu_backend();
    const auto tp = make_staged_collective(*on, world);
    Results mine;
    for (std::size_t at = 0; at < setting.row_numbers.size(); at += static_cast<std::size_t>(setting.chunk)) {
      const auto end = std::min(setting.row_numbers.size(), at + static_cast<std::size_t>(setting.chunk));
      const std::vector<std::int64_t> numbers(setting.row_numbers.begin() + static_cast<std::ptrdiff_t>(at),
                                              setting.row_numbers.begin() + static_cast<std::ptrdiff_t>(end));
      std::vector<std::int64_t> targets;
      for (const std::int64_t r : numbers) targets.push_back(problem().targets[static_cast<std::size_t>(r)]);
      const Range columns = setting.bounds.columns(world.rank());
      const std::vector<std::uint16_t> shard = shard_of(columns, numbers);
      std::vector<float> lse(numbers.size()), logp(numbers.size());
      std::vector<std::int64_t> row_index(numbers);
      for (std::int64_t& number : row_index) number += setting.shift;
      const FormulaInput input{
          .logits = {.data = reinterpret_cast<const std::byte*>(shard.data()),
                     .rows = static_cast<std::int64_t>(numbers.size()),
                     .pitch = columns.size(),
                     .columns = columns,
                     .vocab = vocab,
                     .rule = {.stored = Dtype::BF16, .candidate = Dtype::BF16}},
          .bounds = setting.bounds,
          .targets = targets.data(),
          .row_index = row_index.data(),
          .on = *on,
          .tp = *tp};
      formula.run(input, {lse.data(), logp.data()});
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        mine.lse.push_back(std::bit_cast<std::uint32_t>(lse[i]));
        mine.logp.push_back(std::bit_cast<std::uint32_t>(logp[i]));
      }
    }
    const std::lock_guard lock(mutex);
    if (out.lse.empty()) out = mine;
    if (!(out == mine)) throw Error(Fault::comm, "ranks of one TP group hold different bits");
  });
  return out;
}

std::vector<std::int64_t> all_rows() {
  std::vector<std::int64_t> out;
  for (std::int64_t r = 0; r < rows; ++r) out.push_back(r);
  return out;
}

Setting reference_setting() { return {.bounds = even_bounds(vocab, 1), .row_numbers = all_rows(), .chunk = rows, .shift = 0}; }

VocabBounds uneven() { return {{0, 1, 1, 4097, 10000, 10240}}; }

long double exact_lse(std::int64_t r) {
  long double sum = 0, max = -std::numeric_limits<long double>::infinity();
  const auto value = [&](std::int64_t c) {
    return static_cast<long double>(widen_bf16(problem().logits[static_cast<std::size_t>(r * vocab + c)]));
  };
  for (std::int64_t c = 0; c < vocab; ++c) max = std::max(max, value(c));
  for (std::int64_t c = 0; c < vocab; ++c) sum += std::exp(value(c) - max);
  return max + std::log(sum);
}

bool rows_hold(const Formula& formula) {
  // Backwards and one further down: neither a row's neighbours nor its own number may matter.
  const Results whole = run(formula, reference_setting());
  Setting backwards = reference_setting();
  backwards.shift = 1;
  std::reverse(backwards.row_numbers.begin(), backwards.row_numbers.end());
  Results back = run(formula, backwards);
  std::reverse(back.lse.begin(), back.lse.end());
  std::reverse(back.logp.begin(), back.logp.end());
  return back == whole;
}

}  // namespace

TEST_CASE("formulas: the table holds the three of this version, sorted") {
  std::vector<std::string_view> ids;
  for (const Formula& formula : formulas()) ids.push_back(formula.id);
  CHECK(std::is_sorted(ids.begin(), ids.end()));
  for (const char* id : {"fixed-tree", "megatron-unfused", "torch-log-softmax-f32"}) CHECK(find_formula(id) != nullptr);
  CHECK(find_formula("fixed_tree") == nullptr);
}

TEST_CASE("formulas: every one stays within its own bound of exact arithmetic, at any TP") {
  REQUIRE_FALSE(formulas().empty());
  for (const Formula& formula : formulas())
    for (const VocabBounds& bounds : {even_bounds(vocab, 1), even_bounds(vocab, 3), uneven()}) {
      Setting setting = reference_setting();
      setting.bounds = bounds;
      const Results got = run(formula, setting);
      for (std::size_t r = 0; r < got.lse.size(); ++r) {
        const long double lse = exact_lse(static_cast<std::int64_t>(r));
        const float got_lse = std::bit_cast<float>(got.lse[r]);
        BoundInput in{.lse = std::fabs(static_cast<double>(lse)),
                      .vocab = vocab,
                      .widest_shard = bounds.widest(),
                      .tp = bounds.tp()};
        INFO(formula.id << " tp " << bounds.tp() << " row " << r);
        CHECK(std::fabs(static_cast<double>(got_lse - lse)) <= formula.lse_bound(in));
        const std::int64_t target = problem().targets[r];
        if (target < 0) {
          CHECK(got.logp[r] == 0x7fc00000u);
          continue;
        }
        const long double x = widen_bf16(problem().logits[r * vocab + static_cast<std::size_t>(target)]);
        in.logp = std::fabs(static_cast<double>(x - lse));
        CHECK(std::fabs(static_cast<double>(std::bit_cast<float>(got.logp[r]) - (x - lse))) <= formula.logp_bound(in));
      }
    }
}

TEST_CASE("formulas: a claim of TP invariance holds bit for bit") {
  for (const Formula& formula : formulas()) {
    if (!formula.claims.tp) continue;
    const Results one = run(formula, reference_setting());
    for (const int tp : {2, 3, 4, 5, 7, 8}) {
      Setting setting = reference_setting();
      setting.bounds = even_bounds(vocab, tp);
      INFO(formula.id << " tp " << tp);
      CHECK(run(formula, setting) == one);
    }
  }
}

TEST_CASE("formulas: claims about shard bounds and padded width hold bit for bit") {
  for (const Formula& formula : formulas()) {
    const Results one = run(formula, reference_setting());
    Setting setting = reference_setting();
    INFO(formula.id);
    if (formula.claims.bounds) {
      setting.bounds = {{0, 5000, vocab}};
      const Results halves = run(formula, setting);
      CHECK(halves == one);
      setting.bounds = uneven();
      CHECK(run(formula, setting) == one);
    }
    if (formula.claims.padded_width)
      for (const std::int64_t padded : {vocab + 1, vocab + 57, std::int64_t{16384}, std::int64_t{20000}})
        for (const int tp : {1, 2, 4}) {
          setting.bounds = even_bounds(padded, tp);  // at 20000 and TP 4 the last shard is padding only
          CHECK(run(formula, setting) == one);
        }
  }
}

TEST_CASE("formulas: claims about other rows and chunks hold bit for bit") {
  for (const Formula& formula : formulas()) {
    const Results one = run(formula, reference_setting());
    INFO(formula.id);
    if (formula.claims.rows) CHECK(rows_hold(formula));
    if (formula.claims.chunking)
      for (const std::int64_t chunk : {1, 2, 5, 7}) {
        Setting setting = reference_setting();
        setting.chunk = chunk;
        CHECK(run(formula, setting) == one);
      }
  }
}

TEST_CASE("formulas: what megatron-unfused does not claim is not so, and the checks here can tell") {
  const Formula& formula = *find_formula("megatron-unfused");
  Setting setting = reference_setting();
  setting.bounds = even_bounds(vocab, 4);
  CHECK_FALSE(run(formula, setting) == run(formula, reference_setting()));
}

TEST_CASE("formulas: torch's order depends on where a row of odd width starts") {
  CHECK_FALSE(rows_hold(*find_formula("torch-log-softmax-f32")));
}

TEST_CASE("formulas: torch-log-softmax-f32 refuses the widths whose order it does not know") {
  const Formula& formula = *find_formula("torch-log-softmax-f32");
  CHECK_FALSE(formula.refuses({.vocab = 9216, .backend = "cpu"}).empty());
  CHECK(formula.refuses({.vocab = 9217, .backend = "cpu"}).empty());
}
