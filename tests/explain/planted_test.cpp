// Every fault alone, and seeded faults and pairs: the answer is right, or none, never a wrong one.

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>

#include "explain/small_dump_plant.hpp"
#include "support/catch.hpp"

using namespace drift;
using namespace drift::test;

namespace {

using Ids = std::set<std::string>;

const std::vector<std::vector<std::string>>& faults() {
  static const std::vector<std::vector<std::string>> axes{
      {"temperature_ignored", "temperature_native", "temperature_twice", "temperature_fitted",
       "truncation_fitted"},
      {"padding_in_lse", "gathered_tp2", "gathered_tp4", "gathered_tp8", "own_shard_only_tp2",
       "own_shard_only_tp4", "shard_lost_tp2_rank1", "shard_lost_tp4_rank0", "shard_lost_tp4_rank2",
       "shard_at_offset_0_tp2_rank0", "shard_at_offset_0_tp2_rank1", "shard_at_offset_0_tp4_rank1",
       "shard_at_offset_0_tp4_rank3"},
      {"next_target",
       "previous_target",
       "next_target_across",
       "previous_target_across",
       "argmax",
       "shards_reversed_tp2",
       "shards_reversed_tp4",
       "shards_rotated_left_tp4",
       "shards_rotated_right_tp4",
       "local_index_tp2",
       "local_index_tp4",
       "target_missing",
       "target_twice",
       "fence_twice_tp2",
       "fence_missing_tp4",
       "clamped_tp2",
       "label_roll_zigzag_cp2",
       "label_roll_zigzag_cp4",
       "label_roll_contiguous_cp2",
       "label_roll_contiguous_cp4"},
      {"rows_next", "rows_previous", "rows_next_across", "rows_previous_across", "zigzag_concatenated_cp2",
       "zigzag_concatenated_cp4", "contiguous_as_zigzag_cp2", "contiguous_as_zigzag_cp4"},
      {"output_bf16", "output_f16", "probability", "negated", "base_2", "lse", "logp_over_temperature",
       "entropy", "negative_entropy", "zero_filled", "clamped"}};
  return axes;
}

// A layout fault belongs to one TP degree: of the planted dump's, where an id says one.
bool fits_tp(const std::string& id, int tp) {
  const std::size_t place = id.find("_tp");
  return place == std::string::npos || id[place + 3] - '0' == tp;
}

enum class Verdict { right, part, none, wrong };

struct Result {
  Verdict verdict = Verdict::none;
  std::string said;
};

std::string text_of(const Ids& ids) {
  std::string out;
  for (const std::string& id : ids) out += (out.empty() ? "" : " + ") + id;
  return out.empty() ? "none" : out;
}

// The same recorded values by other causes: what no audit can tell apart.
bool same_values(const SmallDump& dump, const Plant& plant, const Ids& ids,
                 const std::vector<float>& recorded) {
  Plant other = plant;
  other.ids = ids;
  const std::vector<float> values = recorded_with(dump, other);
  for (std::size_t r = 0; r < values.size(); ++r)
    if (dump.use[r] && std::fabs(values[r] - recorded[r]) > 1e-5f * std::fmax(1.0f, std::fabs(values[r])))
      return false;
  return true;
}

Result try_plant(const SmallDump& dump, const Plant& plant) {
  const std::vector<float> recorded = recorded_with(dump, plant);
  const Explanation e = explain(survey_of(dump, recorded), recorded);
  Result out{Verdict::none, e.sentence};
  if (same_values(dump, plant, {}, recorded)) {  // makes no difference in this dump
    const bool quiet = e.finding == Finding::exact || e.finding == Finding::formula_order;
    out.verdict = quiet ? Verdict::right : Verdict::wrong;
    return out;
  }
  if (e.finding != Finding::cause && e.finding != Finding::several) return out;
  out.verdict = Verdict::wrong;
  for (const Candidate& candidate : e.best) {
    Ids named;
    for (const Cause& cause : candidate.causes) named.insert(cause.id);
    if (named == plant.ids || same_values(dump, plant, named, recorded)) {
      out.verdict = Verdict::right;
      return out;
    }
    if (std::includes(plant.ids.begin(), plant.ids.end(), named.begin(), named.end()))
      out.verdict = Verdict::part;
  }
  return out;
}

struct Matrix {
  std::map<std::string, std::map<Verdict, int>> of;  // by planted causes
  std::map<Verdict, int> total;
  std::vector<std::string> misses;
  void add(const Ids& planted, const Result& result) {
    for (const std::string& id : planted) ++of[id][result.verdict];
    ++total[result.verdict];
    if (result.verdict != Verdict::right)
      misses.push_back((result.verdict == Verdict::wrong ? "WRONG " : "") + text_of(planted) + " -> " +
                       result.said);
  }
};

// `count` seeded plants, a third of them alone.
Matrix seeded_plants(std::uint64_t seed, int count) {
  std::mt19937_64 random(seed);
  Matrix matrix;
  for (int i = 0; i < count; ++i) {
    SmallDump dump;
    dump.tp = 1 << (random() % 3);
    dump.temperature = random() % 4 == 0 ? 1.0f : random() % 2 == 0 ? 0.7f : 0.6f;
    dump = make_dump(random(), dump);
    Plant plant;
    const std::size_t wanted = i % 3 == 0 ? 1 : 2;
    std::size_t first_axis = 9;
    while (plant.ids.size() < wanted) {
      const std::size_t axis = random() % faults().size();
      const std::string& id = faults()[axis][random() % faults()[axis].size()];
      const bool about_temperature = id.starts_with("temperature_") || id == "logp_over_temperature";
      if (axis == first_axis || !fits_tp(id, dump.tp) || (about_temperature && dump.temperature == 1.0f))
        continue;
      plant.ids.insert(id);
      first_axis = axis;
    }
    // What no table can hold: a number is fitted on the targets' values alone, and half a pair that decides
    // the other.
    const auto& ids = plant.ids;
    const bool fitted = plant.has("temperature_fitted") || plant.has("truncation_fitted");
    const bool fits =
        ids.size() == 1 || plant.has("output_bf16") || plant.has("output_f16") || plant.has("zero_filled");
    const bool two_values =
        plant.has("logp_over_temperature") && std::any_of(ids.begin(), ids.end(), [](const std::string& id) {
          return id.starts_with("temperature_") || id.starts_with("shard_") || id.starts_with("own_shard");
        });
    const bool unknown_shards =
        std::any_of(ids.begin(), ids.end(),
                    [](const std::string& id) {
                      return id.starts_with("shard_lost") || id.starts_with("shard_at") ||
                             id.starts_with("own_shard") || id.ends_with("entropy");
                    }) &&
        std::any_of(ids.begin(), ids.end(),
                    [](const std::string& id) {
                      return id.starts_with("temperature_") || id.starts_with("shards_") ||
                             id.ends_with("entropy") || id.ends_with("target") || id.starts_with("local") ||
                             id.ends_with("across") || id == "padding_in_lse" || id.starts_with("gathered");
                    }) &&
        ids.size() > 1;
    if ((fitted && !fits) || two_values || unknown_shards) {
      --i;
      continue;
    }
    matrix.add(plant.ids, try_plant(dump, plant));
  }
  return matrix;
}

void print(const Matrix& matrix) {
  for (const auto& [id, counts] : matrix.of) {
    std::cout << id;
    for (std::size_t pad = id.size(); pad < 32; ++pad) std::cout << ' ';
    for (const Verdict verdict : {Verdict::right, Verdict::part, Verdict::none, Verdict::wrong})
      std::cout << "  " << (counts.contains(verdict) ? counts.at(verdict) : 0);
    std::cout << '\n';
  }
  for (const std::string& miss : matrix.misses) std::cout << miss << '\n';
}

}  // namespace

TEST_CASE("explain: names every fault that is planted alone") {
  for (const auto& axis : faults())
    for (const std::string& id : axis) {
      INFO(id);
      const Result result = try_plant(make_dump(101), {{id}});
      INFO(result.said);
      CHECK(result.verdict == Verdict::right);
    }
}

TEST_CASE("explain: seeded faults and pairs get the right name or none, never a wrong one") {
  Matrix matrix = seeded_plants(20260301, 240);
  for (const std::string& miss : matrix.misses) UNSCOPED_INFO(miss);
  CHECK(matrix.total[Verdict::wrong] == 0);
  CHECK(matrix.total[Verdict::right] >= 228);
}

TEST_CASE("explain: prints the confusion matrix (right, part, none, wrong) by planted cause", "[.matrix]") {
  // More seeds than the asserted ones: DRIFT_TEST_SEED starts elsewhere.
  const char* seed = std::getenv("DRIFT_TEST_SEED");
  print(seeded_plants(seed ? std::stoull(seed) : 20260301, seed ? 600 : 240));
}
