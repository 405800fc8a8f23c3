// Values that a named cause comes near to and does not explain: it is not named. And what does explain them
// beside it is.

#include <bit>

#include "explain/small_dump_plant.hpp"
#include "support/catch.hpp"

using namespace drift;
using namespace drift::test;

namespace {

Explanation explained(const SmallDump& dump, const std::vector<float>& recorded) {
  return explain(survey_of(dump, recorded), recorded);
}

std::set<std::set<std::string>> named(const Explanation& e) {
  std::set<std::set<std::string>> out;
  if (e.finding != Finding::cause && e.finding != Finding::several) return out;
  for (const Candidate& candidate : e.best) {
    std::set<std::string> ids;
    for (const Cause& cause : candidate.causes) ids.insert(cause.id);
    out.insert(ids);
  }
  return out;
}

std::vector<float> changed(const SmallDump& dump, float (*change)(float)) {
  std::vector<float> out = recorded_with(dump, {});
  for (float& value : out) value = change(value);
  return out;
}

SmallDump untempered(std::uint64_t seed, Dtype dtype = Dtype::BF16) {
  SmallDump dump;
  dump.temperature = 1;
  dump.dtype = dtype;
  return make_dump(seed, dump);
}

// Targets as a sampler that truncates draws them: the most likely column where the drawn one was cut off.
SmallDump drawn_from_kept(SmallDump dump, const Truncation& truncation) {
  for (std::size_t r = 0; r < dump.targets.size(); ++r) {
    std::vector<double> x;
    for (std::int64_t c = 0; c < dump.vocab; ++c)
      x.push_back(static_cast<double>(dump.logits[r][at(c)] / dump.temperature));
    if (x[at(dump.targets[r])] < kept_floor(x, truncation))
      dump.targets[r] = std::max_element(x.begin(), x.end()) - x.begin();
  }
  return dump;
}

bool mentions(const std::vector<std::string>& lines, const std::string& text) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& l) { return l.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("explain: outputs cut down to bf16 are not a fitted temperature or truncation that is rounded") {
  for (std::uint64_t seed = 200; seed < 240; ++seed) {
    const SmallDump dump = untempered(seed, seed % 2 ? Dtype::BF16 : Dtype::F32);
    const Explanation e =
        explained(dump, changed(dump, [](float value) {
                    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0xffff0000u);
                  }));
    INFO(seed << ": " << e.sentence);
    for (const auto& ids : named(e)) CHECK(ids == std::set<std::string>{"output_bf16"});
  }
}

TEST_CASE("explain: log-probs times a number are not in bits, and no temperature") {
  for (const float factor : {0.93f, 1.07f, 1.5f})
    for (std::uint64_t seed = 240; seed < 246; ++seed) {
      const SmallDump dump = untempered(seed);
      std::vector<float> recorded = recorded_with(dump, {});
      for (float& value : recorded) value *= factor;
      const Explanation e = explained(dump, recorded);
      INFO(factor << " " << seed << ": " << e.sentence);
      CHECK(e.finding == Finding::nothing);
      CHECK(mentions(e.looks, "proportional"));
    }
}

TEST_CASE("explain: half of the padding in the LSE is not all of it") {
  for (std::uint64_t seed = 250; seed < 256; ++seed) {
    const SmallDump dump = untempered(seed);
    SmallDump half = dump;  // the other half is lost
    for (auto& row : half.logits)
      for (std::int64_t c = (dump.vocab + dump.padded) / 2; c < dump.padded; ++c) row[at(c)] = -1e4f;
    const Explanation e = explained(dump, recorded_with(half, {{"padding_in_lse"}}));
    INFO(e.sentence);
    CHECK(named(e).empty());
  }
}

TEST_CASE("explain: an LSE that was rounded to bf16 is not an output rounded to f16") {
  for (std::uint64_t seed = 260; seed < 266; ++seed) {
    const SmallDump dump = untempered(seed);
    const Survey survey = survey_of(dump, std::vector<float>(at(dump.rows()), 0.0f));
    std::vector<float> recorded;
    for (std::size_t r = 0; r < dump.logits.size(); ++r)
      recorded.push_back(dump.logits[r][at(dump.targets[r])] -
                         rounded_to(Dtype::BF16, static_cast<float>(survey.variants[0].lse[r])));
    const Explanation e = explained(dump, recorded);
    INFO(e.sentence);
    CHECK(named(e).empty());
  }
}

TEST_CASE("explain: one value everywhere, or zeros nearly everywhere, say nothing of the logits") {
  const SmallDump dump = make_dump(270);
  for (const float value : {-1.3828125f, -1.0f, 0.5f, -100.0f}) {
    const Explanation e = explained(dump, std::vector<float>(at(dump.rows()), value));
    INFO(e.sentence);
    CHECK(e.finding == Finding::nothing);
    if (value == -1.3828125f)
      CHECK(mentions(e.untestable, "clamped: 76 of 76 recorded values are -1.3828125"));
  }
  std::vector<float> recorded = recorded_with(dump, {{"next_target"}});
  for (std::size_t r = 0; r < recorded.size(); ++r)
    if (r % 8) recorded[r] = 0;
  const Explanation e = explained(dump, recorded);
  INFO(e.sentence);
  CHECK(mentions(e.untestable, "zero_filled: "));
  CHECK(named(e).empty());
}

TEST_CASE(
    "explain: zeros and a floor are named, also beside another cause, and alone as often as they stand") {
  for (const std::string id : {"zero_filled", "clamped"})
    for (const std::string beside : {"", "gathered_tp2", "next_target", "temperature_ignored"}) {
      const SmallDump dump = make_dump(280);
      std::set<std::string> ids{id};
      if (!beside.empty()) ids.insert(beside);
      const Explanation e = explained(dump, recorded_with(dump, {ids}));
      INFO(id << " " << beside << ": " << e.sentence);
      CHECK(named(e).contains(ids));
      CHECK(e.best.front().within == 76);
    }
}

TEST_CASE("explain: a wide prediction that hits every token is named beside a narrow one") {
  // Confident rows: whatever gives a log-prob near 0 explains them.
  SmallDump dump = make_dump(290);
  for (std::size_t r = 0; r < dump.logits.size(); ++r) {
    dump.targets[r] = static_cast<std::int64_t>(r) % dump.vocab;
    dump.logits[r][at(dump.targets[r])] = 14;
  }
  const Explanation e = explained(dump, recorded_with(dump, {{"temperature_twice"}}));
  INFO(e.sentence);
  REQUIRE(e.drifting > 5);
  CHECK(named(e).contains({"temperature_twice"}));
}

TEST_CASE("explain: a temperature and a truncation are found beside another cause") {
  for (const std::string beside :
       {"gathered_tp4", "target_twice", "next_target", "negated", "base_2", "lse"}) {
    const SmallDump hot = make_dump(300);
    const std::set<std::string> temperature{"temperature_fitted", beside};
    const Explanation e = explained(hot, recorded_with(hot, {temperature, 0.85f}));
    INFO(e.sentence);
    CHECK(named(e).contains(temperature));
    CHECK(e.sentence.find("temperature was 0.85 instead of 0.7") != std::string::npos);
  }
  for (const std::string beside : {"negated", "base_2", "lse"})
    for (const Truncation truncation : {Truncation{20, 1, 0}, Truncation{0, 0.9, 0}}) {
      const SmallDump dump = drawn_from_kept(untempered(301, Dtype::F32), truncation);
      const std::set<std::string> ids{"truncation_fitted", beside};
      const Explanation e = explained(dump, recorded_with(dump, {ids, 0, truncation}));
      INFO(e.sentence);
      CHECK(named(e).contains(ids));
      CHECK(e.sentence.find(truncation.top_k ? "(top-k 20)" : "(top-p 0.9)") != std::string::npos);
    }
}

TEST_CASE("fitted_truncation: behind a rounded output every k in the interval is tried, and p with it") {
  for (const Truncation truncation : {Truncation{50, 1, 0}, Truncation{20, 1, 0}, Truncation{0, 0.95, 0}})
    for (const char* output : {"output_bf16", "output_f16"}) {
      const SmallDump dump = drawn_from_kept(untempered(310, Dtype::F32), truncation);
      const std::set<std::string> ids{"truncation_fitted", output};
      const Explanation e = explained(dump, recorded_with(dump, {ids, 0, truncation}));
      INFO(e.sentence);
      CHECK(named(e).contains(ids));
      const std::string number =
          truncation.top_k ? "(top-k " + std::to_string(truncation.top_k) : "(top-p 0.9";
      CHECK(e.sentence.find(number) != std::string::npos);
    }
}

TEST_CASE("explain: a cause whose edges the dump does not hold is named from the rows that it does") {
  const SmallDump dump = make_dump(320);
  const Explanation e = explained(dump, recorded_with(dump, {{"label_roll_contiguous_cp2"}}));
  INFO(e.sentence);
  CHECK(named(e).contains({"label_roll_contiguous_cp2"}));
  CHECK(e.drifting < 16);
}
