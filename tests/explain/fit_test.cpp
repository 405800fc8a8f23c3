// The numbers that are fitted: a temperature, a truncation.

#include "explain/small_dump_plant.hpp"
#include "support/catch.hpp"

using namespace drift;
using namespace drift::test;

namespace {

std::vector<SampleRow> samples_of(const SmallDump& dump) {
  std::vector<SampleRow> out;
  for (const std::int64_t row : rows_to_sample(dump.use, 32))
    out.push_back({row, {dump.logits[at(row)].begin(), dump.logits[at(row)].begin() + dump.vocab}});
  return out;
}

}  // namespace

TEST_CASE("fitted_temperature: finds the temperature that was used, also through rounded outputs and zeros") {
  for (const float wrong : {0.9f, 0.85f, 0.35f, 1.25f, 0.725f})
    for (const char* output : {"", "output_bf16", "output_f16", "zero_filled"}) {
      const SmallDump dump = make_dump(5);
      const std::vector<float> recorded = recorded_with(dump, {{"temperature_fitted", output}, wrong});
      const auto fitted = fitted_temperature(samples_of(dump), survey_of(dump, recorded), recorded);
      INFO(wrong << " " << output);
      REQUIRE(fitted);
      CHECK(static_cast<float>(*fitted) == wrong);
    }
}

TEST_CASE(
    "fitted_temperature: says nothing where the audited one holds, where 1 or its square does, or none") {
  const SmallDump dump = make_dump(6);
  for (const char* id : {"", "temperature_ignored", "temperature_twice", "next_target", "padding_in_lse"}) {
    const std::vector<float> recorded = recorded_with(dump, {{id}});
    INFO(id);
    CHECK_FALSE(fitted_temperature(samples_of(dump), survey_of(dump, recorded), recorded));
  }
}

TEST_CASE("fitted_truncation: finds top-k, top-p and min-p") {
  SmallDump dump;
  dump.temperature = 1;
  dump.dtype = Dtype::F32;
  dump = make_dump(7, dump);
  for (const Truncation truncation :
       {Truncation{20, 1, 0}, {7, 1, 0}, {0, 0.8, 0}, {0, 0.95, 0}, {0, 1, 0.02}}) {
    // A sampler takes its targets from what it keeps.
    SmallDump kept = dump;
    for (std::size_t r = 0; r < kept.targets.size(); ++r) {
      std::vector<double> x(kept.logits[r].begin(), kept.logits[r].begin() + kept.vocab);
      const double floor = kept_floor(x, truncation);
      if (x[at(kept.targets[r])] < floor) kept.targets[r] = std::max_element(x.begin(), x.end()) - x.begin();
    }
    const std::vector<float> recorded = recorded_with(kept, {{"truncation_fitted"}, 0, truncation});
    const auto fitted = fitted_truncation(samples_of(kept), survey_of(kept, recorded), recorded);
    INFO(truncation.top_k << " " << truncation.top_p << " " << truncation.min_p);
    REQUIRE(fitted);
    CHECK(fitted->top_k == truncation.top_k);
    CHECK(std::fabs(fitted->top_p - truncation.top_p) < 0.03);
    CHECK(std::fabs(fitted->min_p - truncation.min_p) < 0.004);
  }
}

TEST_CASE("fitted_truncation: says nothing of log-probs over the whole vocabulary or of another cause") {
  const SmallDump dump = make_dump(8);
  for (const char* id : {"", "temperature_ignored", "next_target", "padding_in_lse", "gathered_tp2"}) {
    const std::vector<float> recorded = recorded_with(dump, {{id}});
    INFO(id);
    CHECK_FALSE(fitted_truncation(samples_of(dump), survey_of(dump, recorded), recorded));
  }
}

TEST_CASE("columns_to_pick: at most 25 picks a row, the target first, and only columns of the dump") {
  const std::vector<std::int64_t> targets{3, -100, 9, 250, 0, 7};
  const std::vector<Range> sequences{{0, 3}, {3, 6}};
  const auto picks = columns_to_pick(targets, sequences, 10, 12);
  REQUIRE(picks.size() <= 25);
  CHECK(picks[0].id == "target");
  CHECK(picks[0].column == std::vector<std::int64_t>{3, -1, 9, -1, 0, 7});
  CHECK(picks[1].column == std::vector<std::int64_t>{-1, 9, 3, 0, 7, -1});  // next, inside the sequence
  for (const ColumnPick& pick : picks)
    for (const std::int64_t column : pick.column) CHECK((column >= -1 && column < 12));
}

TEST_CASE("columns_to_pick: labels rolled inside zigzag CP ranks are wrong at the chunk edges only") {
  // Row r's right label is token r + 1; here token s is column s.
  std::vector<std::int64_t> targets;
  for (std::int64_t r = 0; r < 8; ++r) targets.push_back(r + 1);
  const std::vector<Range> sequences{{0, 8}};
  for (const ColumnPick& pick : columns_to_pick(targets, sequences, 16, 16))
    if (pick.id == "label_roll_zigzag_cp2")
      CHECK(pick.column ==
            std::vector<std::int64_t>{1, 6, 3, 4, 5, 2, 7, -1});  // -1: token 0 is nobody's label
}
