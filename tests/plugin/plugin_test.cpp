// Plug-ins that do as they should: loading, what they accept, right values at any TP, claims, bounds.

#include <cfenv>

#include "base/error.hpp"
#include "base/ulp.hpp"
#include "plugin/default_bound.hpp"
#include "plugin/plugin_run.hpp"

using namespace drift;
using namespace drift::test;

namespace {

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
  });
}

}  // namespace

TEST_CASE(
    "plug-in: the C example is within its default bounds at TP 1, 2 and 4, in every dtype and with a "
    "temperature") {
  const auto plugin = load_plugin(example_plugin("cpu_log_prob"));
  CHECK(plugin->id == "example-cpu");
  for (const Dtype dtype : {Dtype::BF16, Dtype::F16, Dtype::F32, Dtype::F64})
    for (const float temperature : {1.0f, 0.7f})
      for (const TemperatureOrder order : {TemperatureOrder::f32, TemperatureOrder::reciprocal}) {
        const PluginRows rows(
            {.dtype = dtype,
             .rule = {.stored = dtype, .candidate = dtype, .order = order, .temperature = temperature}});
        for (const VocabBounds& bounds : {even_bounds(1024, 1), even_bounds(1024, 2), even_bounds(1024, 4),
                                          VocabBounds{{0, 0, 1, 1009, 1024}}}) {
          const auto ranks = run_over(*plugin, rows, bounds);
          INFO("dtype " << name(dtype) << " T " << temperature << " tp " << bounds.tp());
          const Closest share = closest(*plugin, rows, bounds, ranks[0]);
          CHECK(share.lse <= 1);
          CHECK(share.logp <= 1);
          CHECK(std::bit_cast<std::uint32_t>(ranks[0].logp[2]) == 0x7fc00000u);  // a row without a target
          for (const Values& values : ranks) {
            CHECK(same_bits(values.lse, ranks[0].lse));
            CHECK(same_bits(values.logp, ranks[0].logp));
          }
        }
      }
}

TEST_CASE("plug-in: it agrees with fixed-tree within both bounds") {
  const auto plugin = load_plugin(example_plugin("cpu_log_prob"));
  const Formula& tree = *find_formula("fixed-tree");
  const PluginRows rows({.rows = 5, .vocab = 20000, .padded = 20480, .dtype = Dtype::BF16});
  for (const int tp : {1, 2, 4}) {
    const VocabBounds bounds = even_bounds(20480, tp);
    const Values mine = run_over(*plugin, rows, bounds)[0], reference = run_over(tree, rows, bounds)[0];
    for (std::size_t r = 0; r < mine.lse.size(); ++r) {
      const BoundInput in{.lse = std::fabs(static_cast<double>(reference.lse[r])),
                          .logp = std::fabs(static_cast<double>(reference.logp[r])),
                          .vocab = 20000,
                          .widest_shard = bounds.widest(),
                          .tp = tp};
      CHECK(std::fabs(mine.lse[r] - reference.lse[r]) <= plugin->lse_bound(in) + tree.lse_bound(in));
      if (rows.targets[r] >= 0)
        CHECK(std::fabs(mine.logp[r] - reference.logp[r]) <= plugin->logp_bound(in) + tree.logp_bound(in));
    }
  }
}

TEST_CASE("plug-in: its claims, texts and bounds are the formula's") {
  const auto plugin = load_plugin(faulty_plugin("whole_rows"));
  CHECK(names_of(plugin->claims) ==
        std::vector<std::string>{"tp", "bounds", "padded-width", "rows", "chunking"});
  CHECK(plugin->summary == "every column on every rank");
  CHECK(plugin->used_by.find("whole_rows.so") != std::string::npos);
  CHECK(plugin->lse_bound({.lse = 100, .vocab = 10}) == 1e-5);
  CHECK(plugin->logp_bound({.logp = 100, .vocab = 10}) == 2e-5);
  CHECK(load_plugin(example_plugin("cpu_log_prob"))->claims.rows);
  CHECK_FALSE(load_plugin(example_plugin("cpu_log_prob"))->claims.tp);
}

TEST_CASE("plug-in: one that wants whole rows gets the same bits from every sharding") {
  const auto plugin = load_plugin(faulty_plugin("whole_rows"));
  const PluginRows rows(Shape{});
  const Values one = run_over(*plugin, rows, even_bounds(1024, 1))[0];
  CHECK(closest(*plugin, rows, even_bounds(1024, 1), one).lse <= 1);
  for (const VocabBounds& bounds :
       {even_bounds(1024, 2), even_bounds(1024, 3), VocabBounds{{0, 5, 5, 1000, 1024}}})
    for (const Values& values : run_over(*plugin, rows, bounds)) {
      CHECK(same_bits(values.lse, one.lse));
      CHECK(same_bits(values.logp, one.logp));
    }
}

TEST_CASE("plug-in: the default bound is megatron-unfused's, and more only where an order is unknown") {
  const BoundInput in{.lse = 12, .logp = 9, .vocab = 151669, .widest_shard = 75835, .tp = 2};
  const Formula& model = *find_formula("megatron-unfused");
  CHECK(default_lse_bound(in) == model.lse_bound(in));
  CHECK(default_logp_bound(in, Dtype::F32) == Approx(model.logp_bound(in) + 0.5 * ulp32(12)).epsilon(1e-12));
  CHECK(default_logp_bound(in, Dtype::BF16) ==
        Approx(default_logp_bound(in, Dtype::F32) + 0.0625).epsilon(1e-12));
  CHECK(default_logp_bound(in, Dtype::F16) ==
        Approx(default_logp_bound(in, Dtype::F32) + 0.0078125).epsilon(1e-12));
  CHECK(default_logp_bound({.lse = 1, .logp = 0, .vocab = 2, .widest_shard = 2}, Dtype::F16) >= 0x1p-24);
}

TEST_CASE("plug-in: it refuses what it cannot do, in words") {
  const ValueRule bf16{.stored = Dtype::BF16, .candidate = Dtype::BF16};
  const auto cuda = load_plugin(faulty_plugin("cuda_only"));
  const auto says = [](const Formula& formula, const FormulaRun& run, const char* what) {
    const std::string reason = formula.refuses(run);
    INFO(reason);
    return reason.find(what) != std::string::npos;
  };
  CHECK(says(*cuda, {.vocab = 9, .backend = "cpu", .rule = bf16}, "--backend cuda"));
  CHECK(cuda->refuses({.vocab = 9, .backend = "cuda", .rule = bf16}).empty());
  CHECK(says(*cuda, {.vocab = 9, .backend = "cuda", .rule = {}}, "stored as F32 (it reads BF16)"));
  ValueRule rule = bf16;
  rule.temperature = 0.7f;
  CHECK(says(*cuda, {.vocab = 9, .backend = "cuda", .rule = rule}, "temperature 1 only"));
  CHECK(says(*cuda, {.vocab = 9, .backend = "cuda", .rule = bf16, .has_row_temperatures = true},
             "temperature 1 only"));
  rule = bf16;
  rule.candidate = Dtype::F16;
  CHECK(says(*cuda, {.vocab = 9, .backend = "cuda", .rule = rule}, "--candidate-dtype"));
  rule.candidate = Dtype::F32;  // rounds nothing
  CHECK(cuda->refuses({.vocab = 9, .backend = "cuda", .rule = rule}).empty());

  const auto host = load_plugin(example_plugin("cpu_log_prob"));
  CHECK(says(*host, {.vocab = 9, .backend = "cuda", .rule = bf16}, "--backend cpu"));
  rule = bf16;
  rule.temperature = 0.7f;
  CHECK(host->refuses({.vocab = 9, .backend = "cpu", .rule = rule}).empty());
  rule.order = TemperatureOrder::native;
  CHECK(says(*host, {.vocab = 9, .backend = "cpu", .rule = rule}, "--temperature-order"));
}

TEST_CASE("plug-in: what loading one does to the rounding mode stays in its own calls") {
  const auto plugin = load_plugin(faulty_plugin("rounds_up"));
  CHECK(std::fegetround() == FE_TONEAREST);
  const auto ranks = run_over(*plugin, PluginRows(Shape{}), even_bounds(1024, 2));
  CHECK(ranks[0].lse[0] == 1.0f);   // its own code rounds up, as it did when it was loaded
  CHECK(ranks[0].logp[0] == 1.0f);  // the run's all-reduce does not: 1 + 2^-30
  CHECK(std::fegetround() == FE_TONEAREST);
}

TEST_CASE("plug-in: a digest tells files apart and is of the bytes alone") {
  const std::string one = plugin_digest(example_plugin("cpu_log_prob"));
  CHECK(one.size() == 32);
  CHECK(one == plugin_digest(example_plugin("cpu_log_prob")));
  CHECK(one != plugin_digest(faulty_plugin("wrong_row")));
  CHECK_THROWS_AS(plugin_digest(faulty_plugin("there_is_none")), Error);
}
