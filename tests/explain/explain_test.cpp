// What is said where nothing is planted, where little is, and how the drift is split.

#include <chrono>

#include "base/error.hpp"
#include "explain/parts.hpp"
#include "explain/small_dump_plant.hpp"
#include "support/catch.hpp"

using namespace drift;
using namespace drift::test;

namespace {

Explanation explained(const SmallDump& dump, const std::vector<float>& recorded) {
  return explain(survey_of(dump, recorded), recorded);
}

Explanation planted(const SmallDump& dump, std::set<std::string> ids) {
  return explained(dump, recorded_with(dump, {std::move(ids)}));
}

// A survey of one sequence with the logits of a case from the literature; nothing is masked.
SmallDump literal(std::vector<std::vector<float>> logits, std::vector<std::int64_t> targets) {
  SmallDump dump;
  dump.batch = 1;
  dump.sequence = static_cast<std::int64_t>(logits.size());
  dump.vocab = dump.padded = static_cast<std::int64_t>(logits[0].size());
  dump.temperature = 1;
  dump.dtype = Dtype::F32;
  dump.logits = std::move(logits);
  dump.targets = std::move(targets);
  dump.use.assign(dump.logits.size(), 1);
  return dump;
}

bool names(const Explanation& e, const std::string& id) {
  for (const Candidate& candidate : e.best)
    if (candidate.causes.size() == 1 && candidate.causes[0].id == id) return true;
  return false;
}

bool mentions(const std::vector<std::string>& lines, const std::string& text) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& l) { return l.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("explain: log-probs that are right are exact or a matter of formula order, and name no cause") {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6}) {
    const SmallDump dump = make_dump(seed);
    const Explanation e = planted(dump, {});
    INFO(e.sentence);
    CHECK((e.finding == Finding::exact || e.finding == Finding::formula_order));
    REQUIRE(e.best.size() == 1);
    CHECK(e.best[0].causes.empty());
    CHECK(e.best[0].within == 76);
    CHECK(e.drifting == 0);
    if (e.finding == Finding::exact) CHECK(e.best[0].bits == 76);
  }
}

TEST_CASE(
    "explain: a registry formula that gives every bit makes the finding exact, and one last bit does not") {
  const SmallDump dump = make_dump(7);
  std::vector<float> recorded = recorded_with(dump, {});
  for (std::size_t r = 0; r < recorded.size(); ++r)
    if (r % 2) recorded[r] = std::nextafter(recorded[r], -1e9f);
  Survey survey = survey_of(dump, recorded);
  CHECK(explain(survey, recorded).finding == Finding::formula_order);
  survey.formulas.push_back({"some-formula", 0, false, recorded});
  const Explanation e = explain(survey, recorded);
  CHECK(e.finding == Finding::exact);
  CHECK(e.best[0].formula == "some-formula");
  survey.formulas.back().logp[30] = std::nextafter(recorded[30], 0.0f);
  CHECK(explain(survey, recorded).finding == Finding::formula_order);
}

TEST_CASE("explain: logits that another batch shape rounded otherwise are noise, with their sigma") {
  for (const std::uint64_t seed : {11, 12, 13, 14, 15, 16, 17, 18}) {
    const SmallDump dump = make_dump(seed);
    SmallDump other = dump;
    std::mt19937_64 random(seed);
    for (std::size_t r = 0; r < other.logits.size(); ++r)
      if (r % 9 == 4)  // some rows only
        for (float& x : other.logits[r]) {
          const double ulp = stored_ulp(Dtype::BF16, x);
          x = static_cast<float>(static_cast<double>(x) +
                                 ulp * (static_cast<double>(random() % 3) - 1) * 0.6);
          x = rounded_to(Dtype::BF16, x);
        }
    const Explanation e = explained(dump, recorded_with(other, {}));
    INFO(e.sentence);
    CHECK(e.finding == Finding::noise);
    CHECK(e.sentence.find("sigma") != std::string::npos);
    CHECK(e.best[0].causes.empty());
  }
}

TEST_CASE("explain: a cause is found under noise in every row") {
  int named = 0;
  for (const std::string id :
       {"temperature_ignored", "next_target", "gathered_tp2", "rows_previous", "argmax"})
    for (const std::uint64_t seed : {21, 22, 23}) {
      const SmallDump dump = make_dump(seed);
      SmallDump other = dump;
      std::mt19937_64 random(seed);
      for (auto& row : other.logits)
        for (float& x : row)
          x = rounded_to(Dtype::BF16,
                         static_cast<float>(static_cast<double>(x) +
                                            stored_ulp(Dtype::BF16, x) *
                                                (static_cast<double>(random() % 1000) / 1000 - 0.5)));
      const Explanation e = explained(dump, recorded_with(other, {{id}}));
      INFO(id << ": " << e.sentence);
      const bool says_cause = e.finding == Finding::cause || e.finding == Finding::several;
      CHECK((names(e, id) || !says_cause));
      named += names(e, id);
    }
  CHECK(named >= 13);
}

TEST_CASE("explain: an unknown cause is not given a name, and its looks are told") {
  const SmallDump dump = make_dump(31);
  const std::vector<float> right = recorded_with(dump, {});
  std::mt19937_64 random(5);
  std::vector<float> noisy = right, offset = right, scaled = right, shuffled = right, edges = right;
  for (std::size_t r = 0; r < right.size(); ++r) {
    noisy[r] += static_cast<float>(random() % 1000) * 0.002f - 1.0f;
    offset[r] -= 0.37f;
    scaled[r] *= 1.13f;
    if (r % 24 == 23) edges[r] -= 2.3f + 0.1f * static_cast<float>(r % 7);
  }
  std::vector<std::size_t> used;
  for (std::size_t r = 0; r < right.size(); ++r)
    if (dump.use[r]) used.push_back(r);
  std::vector<std::size_t> from = used;
  std::shuffle(from.begin(), from.end(), random);
  for (std::size_t i = 0; i < used.size(); ++i) shuffled[used[i]] = right[from[i]];
  const auto look = [&](const std::vector<float>& recorded, const std::string& text) {
    const Explanation e = explained(dump, recorded);
    INFO(e.sentence);
    CHECK(e.finding == Finding::nothing);
    CHECK(e.excluded.size() > 30);
    if (!text.empty()) CHECK(mentions(e.looks, text));
    CHECK(e.best[0].causes.empty());
  };
  look(noisy, "");
  look(offset, "a constant offset of -0.37");
  look(scaled, "proportional");
  look(shuffled, "permutation");
  look(edges, "first or last in their sequence");
}

TEST_CASE(
    "explain: at temperature 1 temperature faults are untestable, and so is padding where there is none") {
  SmallDump dump;
  dump.temperature = 1;
  dump.padded = 200;
  dump.batch = 1;
  dump.sequence = 48;
  dump = make_dump(41, dump);
  const Explanation e = planted(dump, {"next_target"});
  INFO(e.sentence);
  CHECK(e.finding == Finding::cause);
  CHECK(names(e, "next_target"));
  CHECK(mentions(e.untestable, "temperature_native: the temperature is 1"));
  CHECK(mentions(e.untestable, "padding_in_lse: there are no padded columns"));
  CHECK(mentions(e.untestable, "next_target_across: there is one sequence"));
}

TEST_CASE("explain: the sentence tells what was found, of how many tokens, and what to change") {
  const SmallDump dump = make_dump(51);
  const Explanation native = planted(dump, {"temperature_native"});
  CHECK(native.sentence.find(
            "The temperature was divided in BF16 (T = 0.69921875 and rounded quotients): explains 76 of 76 "
            "tokens that drift") == 0);
  CHECK(native.sentence.find("divide in fp32 (`run --temperature-order native`") != std::string::npos);
  const Explanation padding = planted(dump, {"padding_in_lse"});
  CHECK(padding.sentence.find("mask columns >= 200") != std::string::npos);
  const Explanation zeros = planted(dump, {"zero_filled"});
  INFO(zeros.sentence);
  CHECK(names(zeros, "zero_filled"));
  CHECK(zeros.drifting < 15);
}

TEST_CASE("explain: the parts of every row add up to its drift") {
  for (const std::set<std::string>& ids :
       std::vector<std::set<std::string>>{{},
                                          {"temperature_native"},
                                          {"padding_in_lse", "output_bf16"},
                                          {"next_target", "temperature_ignored"},
                                          {"rows_previous", "output_f16"},
                                          {"zero_filled"},
                                          {"logp_over_temperature"},
                                          {"shards_reversed_tp2", "negated"}}) {
    const SmallDump dump = make_dump(61);
    const std::vector<float> recorded = recorded_with(dump, {ids});
    const Survey survey = survey_of(dump, recorded);
    const Explanation e = explain(survey, recorded);
    double sum = 0, largest = 0, drift = 0;
    int rows = 0;
    REQUIRE(e.parts.size() == 7);
    for (const Part& part : e.parts) {
      sum += part.mean;
      largest = std::fmax(largest, part.mean_abs);
    }
    for (std::size_t r = 0; r < recorded.size(); ++r)
      if (dump.use[r]) {
        drift += static_cast<double>(recorded[r]) -
                 (hypothesis::picked_value(survey, 0, 0, r) - survey.variants[0].lse[r]);
        ++rows;
      }
    INFO(e.sentence);
    CHECK(std::fabs(sum - drift / rows) <= 1e-12 * std::fmax(largest, 1e-3));
    CHECK(e.parts.back().name == "rest");
    CHECK(e.parts.back().mean_abs <= 1e-5);
    if (ids == std::set<std::string>{"temperature_native"}) CHECK(e.parts[2].mean_abs > 1e-3);
  }
}

TEST_CASE("explain: published cases are named") {
  SECTION("targets shifted by one") {
    std::vector<std::vector<float>> logits;
    const std::vector<std::int64_t> targets{0, 1, 2, 3, 0, 1};
    for (const std::int64_t t : targets) {
      logits.emplace_back(4, 0.0f);
      logits.back()[at(t)] = 4;
    }
    const std::vector<float> recorded(6, -4.053490449705934f);
    const Explanation e = explained(literal(logits, targets), recorded);
    INFO(e.sentence);
    CHECK(names(e, "next_target"));
    CHECK(names(e, "previous_target"));  // any other column holds the same
    CHECK(e.finding == Finding::several);
    CHECK(e.sentence.find("on 1 distinct value only") != std::string::npos);
  }
  SECTION("contiguous shards rebuilt as zigzag, and zigzag shards concatenated") {
    std::vector<std::vector<float>> logits;
    for (int t = 0; t < 8; ++t) logits.push_back({0.0f, static_cast<float>(t)});
    const std::vector<int> rebuilt{0, 1, 4, 5, 6, 7, 2, 3}, concatenated{0, 1, 6, 7, 2, 3, 4, 5};
    for (const auto& [order, id] :
         {std::pair{rebuilt, "contiguous_as_zigzag_cp2"}, {concatenated, "zigzag_concatenated_cp2"}}) {
      std::vector<float> recorded;
      for (const int t : order)
        recorded.push_back(static_cast<float>(-std::log1p(std::exp(static_cast<double>(t)))));
      const Explanation e = explained(literal(logits, std::vector<std::int64_t>(8, 0)), recorded);
      INFO(e.sentence);
      CHECK(names(e, id));
    }
  }
  SECTION("a shard at offset 0 of a buffer of zeros: one token is too little to be sure of it") {
    const Explanation e = explained(literal({{1, 2, -1, 0.5f, 3, 0}}, {4}), {-3.247823107893775f});
    INFO(e.sentence);
    CHECK(e.finding == Finding::several);
    CHECK(names(e, "shard_at_offset_0_tp2_rank1"));
    CHECK(e.sentence.find("Perhaps vocabulary shard 1 of TP 2 lies at column 0") == 0);
    CHECK(e.sentence.find("1 of 1 token that drifts") != std::string::npos);
    CHECK(e.sentence.find("on 1 distinct value only") != std::string::npos);
  }
}

TEST_CASE("explain: nothing to compare is nothing, and a survey without rows is refused") {
  SmallDump dump = make_dump(71);
  std::vector<float> recorded(at(dump.rows()), std::numeric_limits<float>::quiet_NaN());
  const Explanation e = explained(dump, recorded);
  CHECK(e.finding == Finding::nothing);
  CHECK(e.rows == 0);
  CHECK(e.sentence.find("No token could be compared") == 0);
  recorded.pop_back();
  CHECK_THROWS_AS(explain(survey_of(dump, std::vector<float>(at(dump.rows()))), recorded), Error);
}

TEST_CASE("explain: a long dump takes seconds", "[.slow]") {
  SmallDump dump;
  dump.batch = 40;
  dump.sequence = 1000;
  dump.vocab = 24;
  dump.padded = 32;
  dump = make_dump(81, dump);
  const std::vector<float> recorded = recorded_with(dump, {{"padding_in_lse", "output_bf16"}});
  const Survey survey = survey_of(dump, recorded);
  const auto begin = std::chrono::steady_clock::now();
  const Explanation e = explain(survey, recorded);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  WARN(e.sentence << " " << seconds << " s");
  CHECK(seconds < 20);
}
