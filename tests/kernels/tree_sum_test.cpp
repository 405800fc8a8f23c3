// Every implementation of tree_sum against the golden bits, cut every way a vocabulary can be cut.

#include "kernels/tree_sum.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/fixed_tree.hpp"
#include "kernels/golden_file.hpp"
#include "kernels/instruction_set.hpp"
#include "kernels/row_target.hpp"
#include "kernels/stored_rows.hpp"
#include "support/catch.hpp"
#include "topology/shard.hpp"

namespace {

using namespace drift;
using test::StoredRows;

struct Outcome {
  std::vector<TreeValue> roots;
  std::vector<float> lse, logp;
};

/// The whole way: every rank's tree_sum, the blocks as an all-gather would lay them, tree_finish.
Outcome run(const cpu::InstructionSet& set, const StoredRows& stored, const std::vector<std::int64_t>& bounds,
            const std::vector<std::int64_t>& targets, const ValueRule* rule = nullptr) {
  const LogitsView whole = stored.view();
  const TreeMerge merge = make_tree_merge(bounds, whole.vocab);
  const std::int64_t rows = whole.rows, block = merge.block_bytes(rows);
  std::vector<std::byte> blocks(static_cast<std::size_t>(block) * (bounds.size() - 1));
  for (std::size_t rank = 0; rank + 1 < bounds.size(); ++rank) {
    LogitsView shard = stored.view({bounds[rank], bounds[rank + 1]});
    if (rule != nullptr) shard.rule = *rule;
    const TreePlan plan = make_tree_plan(shard.columns, shard.vocab);
    std::vector<TreeValue> values(static_cast<std::size_t>(rows * merge.slots), TreeValue{9, 9});
    std::vector<float> target(static_cast<std::size_t>(rows));
    set.tree_sum(shard, plan, merge.slots, values.data());
    cpu::row_target(shard, targets.data(), target.data());
    std::byte* at = blocks.data() + static_cast<std::int64_t>(rank) * block;
    std::memcpy(at, values.data(), values.size() * sizeof(TreeValue));
    std::memcpy(at + values.size() * sizeof(TreeValue), target.data(), target.size() * sizeof(float));
  }
  Outcome out{{},
              std::vector<float>(static_cast<std::size_t>(rows)),
              std::vector<float>(static_cast<std::size_t>(rows))};
  for (std::int64_t r = 0; r < rows; ++r) {
    fixed_tree::Fold fold;
    for (const TreeMerge::Source& source : merge.sources) {
      TreeValue value;
      std::memcpy(&value, blocks.data() + source.tp_rank * block + (r * merge.slots + source.node.slot) * 8,
                  8);
      fold.push(source.node.level, source.node.index, value);
    }
    out.roots.push_back(fold.finish());
  }
  cpu::tree_finish(blocks.data(), merge, targets.data(), rows, {out.lse.data(), out.logp.data()});
  return out;
}

void check_golden(const Outcome& outcome, const golden::Bits& bits) {
  CHECK(std::bit_cast<std::uint32_t>(outcome.roots[0].s) == bits.s);
  CHECK(outcome.roots[0].n == bits.n);
  CHECK(std::bit_cast<std::uint32_t>(outcome.lse[0]) == bits.lse);
}

/// Instruction sets that run here; says which do not.
std::vector<cpu::InstructionSet> sets_here() {
  std::vector<cpu::InstructionSet> here;
  for (const cpu::InstructionSet& set : cpu::instruction_sets())
    if (set.runs_here())
      here.push_back(set);
    else
      WARN("SKIPPED: this CPU has no " << set.name << ", its tree_sum is not tested here");
  return here;
}

}  // namespace

TEST_CASE("tree_sum: every instruction set and dtype gives the golden bits") {
  const std::vector<golden::Row> rows = golden::rows();
  const std::vector<golden::Bits> bits = golden::read_bits();
  REQUIRE(rows.size() == bits.size());
  int stored_in_16_bits = 0;
  for (const cpu::InstructionSet& set : sets_here())
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (const Dtype dtype : {Dtype::BF16, Dtype::F16, Dtype::F32, Dtype::F64}) {
        if (!test::holds(dtype, rows[i].x)) continue;
        if (dtype == Dtype::BF16 || dtype == Dtype::F16) ++stored_in_16_bits;
        CAPTURE(set.name, rows[i].name, name(dtype));
        const std::int64_t padded = bits[i].vocab + 37;
        const StoredRows stored(dtype, std::vector<std::vector<float>>{rows[i].x}, padded);
        check_golden(run(set, stored, {0, padded}, {0}), bits[i]);
      }
  CHECK(stored_in_16_bits > 20);
}

TEST_CASE("tree_sum: shards cut anywhere, empty or of padding only, give the same bits") {
  const std::vector<golden::Row> rows = golden::rows();
  const std::vector<golden::Bits> bits = golden::read_bits();
  const cpu::InstructionSet set = cpu::best_instruction_set();
  golden::Random random(21);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::vector<std::vector<float>> one{rows[i].x};
    const auto vocab = static_cast<std::int64_t>(rows[i].x.size());
    for (const std::int64_t extra : {0, 1, 395, 5000}) {
      const std::int64_t padded = vocab + extra;
      const StoredRows stored(Dtype::F32, one, padded);
      for (const int tp : {1, 2, 3, 4, 5, 7, 8}) {
        CAPTURE(rows[i].name, padded, tp);
        check_golden(run(set, stored, even_bounds(padded, tp).bounds, {0}), bits[i]);
        std::vector<std::int64_t> cuts{0, padded};
        for (int cut = 1; cut < tp; ++cut)
          cuts.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(padded + 1)));
        std::sort(cuts.begin(), cuts.end());
        CAPTURE(cuts);
        check_golden(run(set, stored, cuts, {0}), bits[i]);
      }
    }
  }
}

TEST_CASE("tree_sum: many rows are each row by itself") {
  golden::Random random(22);
  std::vector<std::vector<float>> rows(5, std::vector<float>(4500));
  for (auto& row : rows)
    for (float& x : row) x = golden::to_bf16(4 * random.bell());
  rows[3][17] = golden::minus_inf;
  rows[4][4000] = -600.0f;
  const StoredRows all(Dtype::BF16, rows, 4504);
  for (const cpu::InstructionSet& set : sets_here()) {
    const Outcome outcome = run(set, all, {0, 1000, 4504}, {1, 2, 3, -1, 4499});
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const golden::Node wanted = golden::root(rows[r]);
      CHECK(outcome.roots[r] == TreeValue{wanted.s, static_cast<std::int32_t>(wanted.n)});
    }
    CHECK(std::bit_cast<std::uint32_t>(outcome.logp[3]) == 0x7fc00000u);
    CHECK(std::isfinite(outcome.logp[4]));
  }
}

TEST_CASE("tree_sum: rounding and temperature are the value rule's, on every instruction set") {
  golden::Random random(23);
  std::vector<std::vector<float>> rows(1, std::vector<float>(3000));
  for (float& x : rows[0]) x = 4 * random.bell();
  rows[0][9] = -0x1p30f;  // becomes a mask when divided by less than 1
  for (const Dtype stored : {Dtype::F32, Dtype::F64, Dtype::F16, Dtype::BF16})
    for (const Dtype candidate : {Dtype::F32, Dtype::F16, Dtype::BF16})
      for (const TemperatureOrder order :
           {TemperatureOrder::f32, TemperatureOrder::native, TemperatureOrder::reciprocal})
        for (const float temperature : {1.0f, 0.7f, 1.3f}) {
          const ValueRule rule{stored, candidate, order, temperature};
          const StoredRows data(stored, rows, 3000);
          std::vector<float> values;
          for (const float x : rows[0]) {
            float widened = x;
            if (stored == Dtype::F16) widened = widen_f16(round_f16(x));
            if (stored == Dtype::BF16) widened = widen_bf16(round_bf16(x));
            values.push_back(value_of(widened, rule));
          }
          const golden::Node wanted = golden::root(values);
          for (const cpu::InstructionSet& set : cpu::instruction_sets()) {
            if (!set.runs_here()) continue;
            CAPTURE(name(stored), name(candidate), static_cast<int>(order), temperature, set.name);
            const Outcome outcome = run(set, data, {0, 3000}, {5}, &rule);
            CHECK(outcome.roots[0] == TreeValue{wanted.s, static_cast<std::int32_t>(wanted.n)});
          }
        }
}

TEST_CASE("tree_sum: NaN and +inf neither trap nor hang") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<std::vector<float>> rows(1, std::vector<float>(2100, 1.0f));
  rows[0][3] = infinity;
  rows[0][2050] = std::numeric_limits<float>::quiet_NaN();
  for (const cpu::InstructionSet& set : sets_here())
    for (const Dtype dtype : {Dtype::BF16, Dtype::F16, Dtype::F32, Dtype::F64})
      CHECK(run(set, StoredRows(dtype, rows, 2100), {0, 2100}, {0}).roots.size() == 1);
}

TEST_CASE("tree_finish: LSE and log-prob are within the stated bound of long double") {
  golden::Random random(24);
  double worst_lse = 0, worst_logp = 0;
  for (const std::int64_t vocab : {1, 2, 3, 17, 2047, 2048, 2049, 32000, 151669})
    for (const float scale : {0.1f, 1.0f, 4.0f, 12.0f, 3000.0f}) {
      std::vector<std::vector<float>> rows(1, std::vector<float>(static_cast<std::size_t>(vocab)));
      for (float& x : rows[0]) x = scale * random.bell();
      const auto target = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(vocab));
      const StoredRows stored(Dtype::F32, rows, vocab);
      const Outcome outcome =
          run(cpu::best_instruction_set(), stored, even_bounds(vocab, 3).bounds, {target});
      const float max = *std::max_element(rows[0].begin(), rows[0].end());
      long double sum = 0;
      for (const float x : rows[0])
        sum += std::exp(static_cast<long double>(x) - static_cast<long double>(max));
      const long double lse = std::log(sum) + static_cast<long double>(max);
      const long double logp = static_cast<long double>(rows[0][static_cast<std::size_t>(target)]) - lse;
      const auto bound = [vocab](float value) {
        const float size = std::fabs(value);
        const double ulp = static_cast<double>(std::nextafter(size, 1e30f)) - static_cast<double>(size);
        return 0.5 * ulp + (std::ceil(std::log2(static_cast<double>(vocab))) + 2) * 0x1p-24;
      };
      CAPTURE(vocab, scale, target);
      const auto off = [](float seen, long double exact) {
        return static_cast<double>(std::fabs(static_cast<long double>(seen) - exact));
      };
      CHECK(off(outcome.lse[0], lse) <= bound(outcome.lse[0]));
      CHECK(off(outcome.logp[0], logp) <= bound(outcome.logp[0]));
      CHECK(outcome.logp[0] <= 0);
      worst_lse = std::max(worst_lse, off(outcome.lse[0], lse) / bound(outcome.lse[0]));
      worst_logp = std::max(worst_logp, off(outcome.logp[0], logp) / bound(outcome.logp[0]));
    }
  CHECK(worst_lse > 0.05);  // a bound that nothing comes near to proves nothing
  CHECK(worst_logp > 0.05);
}

TEST_CASE("tree_finish: a confident token keeps the low part of log2 e") {
  std::vector<std::vector<float>> rows(1, std::vector<float>(1000, -40.0f));
  rows[0][500] = 500.0f;  // logp is -exp(-540) * 999: 0 but for errors
  const Outcome outcome =
      run(cpu::best_instruction_set(), StoredRows(Dtype::F32, rows, 1000), {0, 1000}, {500});
  CHECK(outcome.lse[0] == 500.0f);
  CHECK(std::fabs(outcome.logp[0]) <= 1.7f * 0x1p-24f);
}

TEST_CASE("tree_finish: a row of nothing is -inf, an inactive row NaN of the agreed bits") {
  std::vector<std::vector<float>> rows(2, std::vector<float>(6, golden::minus_inf));
  const Outcome outcome =
      run(cpu::best_instruction_set(), StoredRows(Dtype::BF16, rows, 8), {0, 3, 8}, {2, -1});
  CHECK(outcome.lse[0] == golden::minus_inf);
  CHECK(std::bit_cast<std::uint32_t>(outcome.logp[1]) == 0x7fc00000u);
}

TEST_CASE("exp_minus: within 1.3 ulp on every instruction set, the same bits on all") {
  golden::Random random(25);
  std::vector<float> x(5003), first, out(x.size());
  for (float& value : x) value = random.uniform(-110.0f, 5.0f);
  x[0] = golden::minus_inf;
  x[1] = std::numeric_limits<float>::quiet_NaN();
  x[2] = 200.0f;
  x[3] = 2.5f;
  for (const cpu::InstructionSet& set : sets_here()) {
    set.exp_minus(x.data(), static_cast<std::int64_t>(x.size()), 2.5f, out.data());
    CHECK(out[0] == 0.0f);
    CHECK(std::isnan(out[1]));
    CHECK(std::isinf(out[2]));
    CHECK(out[3] == 1.0f);
    double worst = 0;
    for (std::size_t i = 3; i < x.size(); ++i) {
      const float difference = x[i] - 2.5f;
      if (difference < -86.6f) {
        REQUIRE(out[i] == 0.0f);
        continue;
      }
      const double exact = std::exp(static_cast<double>(difference));
      const double ulp = std::ldexp(1.0, std::ilogb(exact) - 23);
      worst = std::max(worst, std::fabs(static_cast<double>(out[i]) - exact) / ulp);
    }
    CHECK(worst <= 1.3);
    out[1] = 0;
    if (first.empty()) first = out;
    CHECK(first == out);
  }
}
