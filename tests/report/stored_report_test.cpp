// Reports that were edited or cut: `compare` answers, or says in a sentence what is wrong and where.

#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "report/compare.hpp"
#include "report/to_json.hpp"
#include "sample_reports.hpp"
#include "support/catch.hpp"
#include "temp_folder.hpp"

using namespace drift;

TEST_CASE("compare: an edited report is refused with the place, what is there and what was wanted") {
  struct Edit {
    const char* pointer;
    nlohmann::json value;
    const char* words;
  };
  const TempFolder folder;
  const auto good = nlohmann::json::parse(to_json(samples::with_extras()));
  put(folder / "good/aggregate.json", good.dump());
  const auto refusal = [&](const nlohmann::json& edited) -> std::string {
    put(folder / "edited/aggregate.json", edited.dump());
    for (const bool is_new : {true, false}) try {
        compare_reports(folder / (is_new ? "good" : "edited"), folder / (is_new ? "edited" : "good"));
        return "was compared";
      } catch (const Error& error) {
        CHECK(error.fault() == Fault::input);
        CHECK(std::string(error.what()).find("json.exception") == std::string::npos);
        if (!is_new) return error.what();
      }
    return "";
  };
  for (const Edit& edit : std::vector<Edit>{
           {"/candidates", nullptr, "candidates is not a list, seen null"},
           {"/gates", nullptr, "gates is not a list, seen null"},
           {"/recorded", {{"a", 1}}, "recorded is not a list"},
           {"/candidates/0", 7, "candidates[0] is not an object, seen 7"},
           {"/candidates/0/formula", 5, "candidates[0].formula is not text, seen 5"},
           {"/candidates/0/drift/lse/max_abs", "big",
            "candidates[0].drift.lse.max_abs is not a number, seen \"big\""},
           {"/candidates/0/drift/lse/count", 1.5,
            "candidates[0].drift.lse.count is not a whole number, seen 1.5"},
           {"/candidates/0/drift/lse/count", -1, "count is not a whole number"},
           {"/candidates/0/drift", {{"lse", {{"count", 1}}}}, "candidates[0].drift.lse.nonfinite is missing"},
           {"/candidates/0/digests/lse", 1, "candidates[0].digests.lse is not text"},
           {"/recorded/0/vs", nlohmann::json::array(), "recorded[0].vs is not an object"},
           {"/recorded/0/vs/oracle", nullptr, "recorded[0].vs.oracle is not an object"},
           {"/gates/1/passed", "yes", "gates[1].passed is not true or false, seen \"yes\""},
           {"/gates/1/name", nullptr, "gates[1].name is not text"},
           {"/gates/0/value", nullptr, "gates[0].value is not a number, seen null"},
           {"/status", 0, "status is not one of pass, drift, failed, seen 0"},
           {"/status", "fine", "status is not one of"},
           {"/exit_code", "0", "exit_code is not a whole number"},
           {"/case/formula", "fixed-tree", "case.formula is not a list"},
           {"/input/logits/shape/1", "8", "input.logits.shape[1] is not a whole number"},
           {"/environment/versions", 3, "environment.versions is not an object"},
           {"/pairs", 3, "pairs is not a list, seen 3"},
           {"/pairs/0/a", nullptr, "pairs[0].a is not text"},
           {"/pairs/0/permuted", 0, "pairs[0].permuted is not true or false, seen 0"},
           {"/pairs/1/drift", nlohmann::json::object(), "pairs[1].drift.count is missing"},
           {"/input/targets/shape", "8", "input.targets.shape is not a list"},
           {"/oracle", nlohmann::json::array(), "oracle is not an object"}}) {
    nlohmann::json edited = good;
    edited[nlohmann::json::json_pointer(edit.pointer)] = edit.value;
    const std::string seen = refusal(edited);
    INFO(edit.pointer << ": " << seen);
    CHECK(seen.find(edit.words) != std::string::npos);
    CHECK(seen.find("edited/aggregate.json is not a report as this tool writes it") != std::string::npos);
  }
  for (const char* key : {"candidates", "recorded", "gates", "input", "oracle", "case", "exit_code"}) {
    nlohmann::json cut = good;
    cut.erase(key);
    INFO(key);
    CHECK(refusal(cut).find(std::string(key) + " is missing") != std::string::npos);
  }
}

TEST_CASE(
    "compare: any one value replaced by any other type never ends in anything but an answer or a sentence") {
  const TempFolder folder;
  AggregateReport full = samples::nonfinite();
  samples::add_extras(full);
  full.candidates->pop_back();  // of what it holds twice, one is enough
  full.recorded->erase(full.recorded->begin());
  full.pairs->pop_back();
  const bool with_logits = GENERATE(true, false);
  if (!with_logits) full = samples::pairs_alone();
  for (PairReport& pair : *full.pairs) {  // hundreds of numbers that nothing reads
    pair.metrics.reset();
    pair.framework_metrics.clear();
    pair.compared.strata.clear();
  }
  for (RecordedReport& recorded : *full.recorded)
    for (auto& [against, compared] : recorded.vs) compared.strata.clear();
  const auto good = nlohmann::json::parse(to_json(full));
  put(folder / "good/aggregate.json", good.dump());
  std::vector<nlohmann::json::json_pointer> places;
  const std::function<void(const nlohmann::json&, const nlohmann::json::json_pointer&)> walk =
      [&](const nlohmann::json& at, const nlohmann::json::json_pointer& here) {
        if (!here.empty()) places.push_back(here);
        if (at.is_object())
          for (const auto& [key, value] : at.items()) walk(value, here / key);
        else if (at.is_array())
          for (std::size_t i = 0; i < at.size(); ++i) walk(at[i], here / i);
      };
  walk(good, nlohmann::json::json_pointer());
  REQUIRE(places.size() > 100);
  for (const auto& place : places)
    for (const nlohmann::json& other : {nlohmann::json(nullptr), nlohmann::json(-3), nlohmann::json("x"),
                                        nlohmann::json::array({1}), nlohmann::json({{"k", 1}})}) {
      nlohmann::json edited = good;
      edited[place] = other;
      put(folder / "edited/aggregate.json", edited.dump());
      INFO(place.to_string() << " = " << other.dump());
      try {
        compare_reports(folder / "good", folder / "edited");
        compare_reports(folder / "edited", folder / "good");
      } catch (const Error& error) {
        CHECK(error.fault() == Fault::input);
      } catch (const std::exception& raw) {
        FAIL(raw.what());
      }
    }
}
