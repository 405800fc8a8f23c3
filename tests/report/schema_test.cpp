// Every document that the structs can become is valid, and what must not pass as a report is refused.

#include "schema_check.hpp"

#include <functional>

#include "base/error.hpp"
#include "report/to_json.hpp"
#include "sample_reports.hpp"
#include "support/catch.hpp"

using namespace drift;
using nlohmann::json;

namespace {

struct Mutation {
  const char* what;
  std::function<void(json&)> change;
};

void check_refused(const std::string& schema, const json& valid, const std::vector<Mutation>& mutations) {
  REQUIRE(schema_errors(schema, valid) == "");
  for (const Mutation& mutation : mutations) {
    json document = valid;
    mutation.change(document);
    INFO(schema << ": " << mutation.what);
    REQUIRE(document != valid);
    CHECK(schema_errors(schema, document) != "");
  }
}

/// Every object's path, and every path to a value that is a number.
void walk(const json& at, const json::json_pointer& here,
          const std::function<void(const json::json_pointer&, const json&)>& visit) {
  visit(here, at);
  if (at.is_object())
    for (const auto& [key, value] : at.items()) walk(value, here / key, visit);
  else if (at.is_array())
    for (std::size_t i = 0; i < at.size(); ++i) walk(at[i], here / i, visit);
}

/// What is wrong anywhere in any document: a key too many, null, and a number that became a list.
void check_refused_everywhere(const std::string& schema, const json& valid) {
  walk(valid, json::json_pointer(), [&](const json::json_pointer& path, const json& value) {
    json document = valid;
    INFO(schema << " at " << path.to_string());
    if (value.is_object()) {
      document[path]["no such key!"] = 1;
      CHECK(schema_errors(schema, document) != "");
    } else {
      document[path] = nullptr;
      CHECK(schema_errors(schema, document) != "");
      if (value.is_number()) {
        document[path] = json::array({value});
        CHECK(schema_errors(schema, document) != "");
      }
    }
  });
}

}  // namespace

TEST_CASE("schemas: there are four, sorted, each named by its id") {
  std::vector<std::string> names;
  for (const Schema& schema : schemas()) {
    names.push_back(schema.name);
    const json parsed = json::parse(schema.text);
    CHECK(parsed.at("$schema") == "http://json-schema.org/draft-07/schema#");
    CHECK(parsed.at("$id") == "drift-audit/" + schema.name);
    CHECK(parsed.at("properties").at("schema").at("properties").at("name").at("const") ==
          "drift-audit/" + schema.name);
    CHECK(parsed.at("properties").at("schema").at("properties").at("version").at("const") == schema_version);
  }
  CHECK(names == std::vector<std::string>{"aggregate", "explain", "rank", "run"});
}

TEST_CASE("schemas: no object accepts keys it does not name") {
  for (const Schema& schema : schemas())
    walk(json::parse(schema.text), json::json_pointer(),
         [&](const json::json_pointer& path, const json& value) {
           if (!value.is_object() || !value.contains("type") || value["type"] != "object") return;
           INFO(schema.name << " at " << path.to_string());
           REQUIRE(value.contains("additionalProperties"));
           CHECK(value["additionalProperties"] == false);
         });
}

TEST_CASE("schemas: whole reports are valid") {
  CHECK(schema_errors("aggregate", to_json(samples::passed())) == "");
  CHECK(schema_errors("aggregate", to_json(samples::drifted())) == "");
  CHECK(schema_errors("aggregate", to_json(samples::nonfinite())) == "");
  CHECK(schema_errors("aggregate", to_json(samples::with_extras())) == "");
  CHECK(schema_errors("aggregate", to_json(samples::pairs_alone())) == "");
  CHECK(schema_errors("explain", to_json(samples::explained())) == "");
  CHECK(schema_errors("explain", to_json(samples::not_explained())) == "");
  AggregateReport none = samples::nonfinite();
  none.recorded->front().vs.front().second.drift = samples::no_rows(3);
  CHECK(schema_errors("aggregate", to_json(none)) == "");
  CHECK(schema_errors("rank", to_json(samples::rank())) == "");
  CHECK(schema_errors("rank", to_json(samples::rank("drift", 1))) == "");
  CHECK(schema_errors("rank", to_json(samples::failed_rank())) == "");
  CHECK(schema_errors("run", to_json(samples::run_info())) == "");
}

TEST_CASE("schemas: a report that failed is valid whatever phase it reached") {
  AggregateReport report = samples::bare();
  CHECK(schema_errors("aggregate", to_json(report)) == "");
  samples::add_topology(report);
  CHECK(schema_errors("aggregate", to_json(report)) == "");
  samples::add_input(report);
  CHECK(schema_errors("aggregate", to_json(report)) == "");
  report.input->mask.reset();
  CHECK(schema_errors("aggregate", to_json(report)) == "");
  samples::add_results(report);
  CHECK(schema_errors("aggregate", to_json(report)) == "");
  for (int code = 2; code <= 8; ++code) {
    report.exit_code = report.error->code = code;
    report.error->fault = name(static_cast<Fault>(code));
    CHECK(schema_errors("aggregate", to_json(report)) == "");
  }
}

TEST_CASE("schemas: an aggregate that breaks the contract is refused") {
  const json valid = json::parse(to_json(samples::passed()));
  check_refused(
      "aggregate", valid,
      {{"no case_id", [](json& d) { d.erase("case_id"); }},
       {"no reproduce", [](json& d) { d.erase("reproduce"); }},
       {"a pass without candidates", [](json& d) { d.erase("candidates"); }},
       {"a pass without ranks", [](json& d) { d.erase("ranks"); }},
       {"a pass with an error", [](json& d) { d["error"] = json::parse(to_json(samples::bare()))["error"]; }},
       {"a pass with exit code 1", [](json& d) { d["exit_code"] = 1; }},
       {"a drift with exit code 0", [](json& d) { d["status"] = "drift"; }},
       {"a failure without error", [](json& d) { d["status"] = "failed", d["exit_code"] = 3; }},
       {"an unknown status", [](json& d) { d["status"] = "ok"; }},
       {"another schema", [](json& d) { d["schema"]["name"] = "drift-audit/rank"; }},
       {"another version", [](json& d) { d["schema"]["version"] = "2.0"; }},
       {"a short digest", [](json& d) { d["oracle"]["digests"]["lse"] = "ab"; }},
       {"a digest in capitals", [](json& d) { d["oracle"]["digests"]["lse"] = std::string(32, 'A'); }},
       {"a size as a number", [](json& d) { d["input"]["files"][0]["bytes"] = 12; }},
       {"a number as text", [](json& d) { d["gates"][0]["value"] = "1e-6"; }},
       {"NaN spelled otherwise", [](json& d) { d["gates"][0]["value"] = "NaN"; }},
       {"a count of 1.5", [](json& d) { d["input"]["rows"] = 1.5; }},
       {"a count below zero", [](json& d) { d["input"]["active_rows"] = -1; }},
       {"bits without 0x",
        [](json& d) { d["candidates"][0]["worst"]["lse"][0]["candidate_bits"] = "3f800000"; }},
       {"an lse token with a target", [](json& d) { d["candidates"][0]["worst"]["lse"][0]["target"] = 1; }},
       {"a logp token without target",
        [](json& d) { d["candidates"][0]["worst"]["logp"][0].erase("target"); }},
       {"a range of three",
        [](json& d) {
          d["ranks"][0]["columns"] = {0, 1, 2};
        }},
       {"a histogram bin that is no number",
        [](json& d) { d["candidates"][0]["drift"]["lse"]["ulp_histogram"]["x"] = 1; }},
       {"an empty histogram bin",
        [](json& d) { d["candidates"][0]["drift"]["lse"]["ulp_histogram"]["4"] = 0; }},
       {"statistics of no row that are not NaN",
        [](json& d) { d["candidates"][0]["drift"]["lse"]["count"] = 0; }},
       {"a variable outside the allow-list", [](json& d) { d["environment"]["variables"]["HOME"] = "/"; }},
       {"CP as a merge axis", [](json& d) { d["contract"]["reduction"]["cp_is_merge_axis"] = true; }},
       {"a gate from nowhere", [](json& d) { d["gates"][0]["from"] = "somebody"; }},
       {"seventeen non-finite rows", [](json& d) {
          for (int i = 0; i < 17; ++i)
            d["input"]["nonfinite"]["active_rows"].push_back(
                {{"row", i}, {"column", 0}, {"owner_tp_rank", 0}, {"kind", "nan"}});
        }}});
  const json failed = json::parse(to_json(samples::bare()));
  check_refused("aggregate", failed,
                {{"a failure with exit code 0", [](json& d) { d["exit_code"] = 0; }},
                 {"an error of code 1", [](json& d) { d["error"]["code"] = 1; }},
                 {"an error without message", [](json& d) { d["error"]["message"] = ""; }},
                 {"an error of no class", [](json& d) { d["error"]["class"] = "bad"; }},
                 {"no environment", [](json& d) { d.erase("environment"); }}});
}

TEST_CASE("schemas: rank and run documents that break the contract are refused") {
  check_refused("rank", json::parse(to_json(samples::rank())),
                {{"no rank", [](json& d) { d.erase("rank"); }},
                 {"a negative rank", [](json& d) { d["rank"] = -1; }},
                 {"a pass with an error",
                  [](json& d) { d["error"] = json::parse(to_json(samples::failed_rank()))["error"]; }},
                 {"a pass of exit code 8", [](json& d) { d["exit_code"] = 8; }},
                 {"rows as one range", [](json& d) {
                    d["rows"] = {0, 8};
                  }}});
  check_refused("run", json::parse(to_json(samples::run_info())),
                {{"no start", [](json& d) { d.erase("started"); }},
                 {"a start in local time", [](json& d) { d["started"] = "2026-01-02T03:04:05+02:00"; }},
                 {"bytes as a number", [](json& d) { d["bytes_read"] = 5; }},
                 {"a pid as text", [](json& d) { d["pids"] = {"41"}; }}});
}

TEST_CASE("schemas: pairs, strata and what options add are refused where they break the contract") {
  const auto one_bin = [](json& d) -> json& { return d["recorded"][0]["vs"]["oracle"]["strata"]["logp"][0]; };
  check_refused(
      "aggregate", json::parse(to_json(samples::with_extras())),
      {{"pairs in place of candidates", [](json& d) { d.erase("candidates"); }},
       {"logits without targets", [](json& d) { d["input"].erase("targets"); }},
       {"logits without a vocabulary", [](json& d) { d["input"].erase("vocabulary"); }},
       {"no logits, but an oracle",
        [](json& d) {
          for (const char* key : {"logits", "vocabulary", "kept"}) d["input"].erase(key);
        }},
       {"a pair without a name", [](json& d) { d["pairs"][0].erase("name"); }},
       {"a pair of another kind", [](json& d) { d["pairs"][0]["kind"] = "ppl"; }},
       {"a pair that may be a permutation", [](json& d) { d["pairs"][0]["permuted"] = "no"; }},
       {"metrics of LSEs", [](json& d) { d["pairs"][1]["metrics"] = d["pairs"][0]["metrics"]; }},
       {"metrics without k3", [](json& d) { d["pairs"][0]["metrics"].erase("k3"); }},
       {"no framework's name", [](json& d) { d["pairs"][0]["framework_metrics"] = json::object(); }},
       {"a pair against itself in vs", [](json& d) { d["pairs"][0]["vs"] = json::object(); }},
       {"strata by something else", [](json& d) { d["pairs"][0]["strata"]["colour"] = json::array(); }},
       {"a bin without rows", [&](json& d) { one_bin(d)["count"] = 0; }},
       {"a bin without a name", [&](json& d) { one_bin(d).erase("name"); }},
       {"noise without its count", [](json& d) { d["recorded"][0]["vs"]["oracle"]["noise"].erase("count"); }},
       {"a file without a name", [](json& d) { d["recorded"][1]["file"] = ""; }},
       {"row statistics of nothing", [](json& d) { d["oracle"]["row_stats"] = json::object(); }},
       {"an entropy without its mean", [](json& d) { d["oracle"]["row_stats"]["entropy"].erase("mean"); }},
       {"kept sets from nowhere", [](json& d) { d["input"]["kept"].erase("from"); }},
       {"names of an unknown framework", [](json& d) { d["case"]["metric_names"] = "jax"; }},
       {"a top_k of 1.5", [](json& d) { d["case"]["top_k"] = 1.5; }}});
  check_refused("aggregate", json::parse(to_json(samples::pairs_alone())),
                {{"neither logits nor pairs", [](json& d) { d.erase("pairs"); }},
                 {"a vocabulary without logits",
                  [](json& d) {
                    d["input"]["vocabulary"] = {{"real", 1}, {"padded", 1}};
                  }},
                 {"a candidate without logits", [](json& d) { d["candidates"] = json::array(); }},
                 {"no topology", [](json& d) { d.erase("topology"); }},
                 {"no ranks", [](json& d) { d.erase("ranks"); }},
                 {"a pass with an error",
                  [](json& d) { d["error"] = json::parse(to_json(samples::bare()))["error"]; }}});
  check_refused(
      "explain", json::parse(to_json(samples::explained())),
      {{"another schema", [](json& d) { d["schema"]["name"] = "drift-audit/aggregate"; }},
       {"a verdict of run", [](json& d) { d["status"] = "pass"; }},
       {"done with exit code 1", [](json& d) { d["exit_code"] = 1; }},
       {"done with an error", [](json& d) { d["error"] = json::parse(to_json(samples::bare()))["error"]; }},
       {"done without findings", [](json& d) { d.erase("findings"); }},
       {"a finding that is no word of ours", [](json& d) { d["findings"][0]["finding"] = "maybe"; }},
       {"a finding without a sentence", [](json& d) { d["findings"][0]["sentence"] = ""; }},
       {"three causes at once",
        [](json& d) {
          json& causes = d["findings"][0]["best"][0]["causes"];
          causes = {causes[0], causes[0], causes[0]};
        }},
       {"a cause without a remedy",
        [](json& d) { d["findings"][0]["best"][0]["causes"][0].erase("remedy"); }},
       {"a residual without its maximum",
        [](json& d) { d["findings"][0]["best"][0]["residual"].erase("max_abs"); }},
       {"candidates", [](json& d) { d["candidates"] = json::array(); }}});
  check_refused("explain", json::parse(to_json(samples::not_explained())),
                {{"a failure without error", [](json& d) { d.erase("error"); }},
                 {"a failure with exit code 0", [](json& d) { d["exit_code"] = 0; }},
                 {"no reproduce", [](json& d) { d.erase("reproduce"); }}});
}

TEST_CASE("schemas: every metric is named in the schema") {
  for (const Schema& schema : schemas()) {
    if (schema.name != "aggregate") continue;
    const json metrics = json::parse(schema.text).at("definitions").at("metrics");
    std::vector<std::string> keys;
    for (const Metric& metric : mismatch_metrics()) keys.emplace_back(metric.key);
    CHECK(metrics.at("required") == json(keys));
    CHECK(metrics.at("properties").size() == keys.size());
  }
}

TEST_CASE("schemas: both documents hold the same case and input") {
  const auto parsed = [](const std::string& name) {
    for (const Schema& schema : schemas())
      if (schema.name == name) return json::parse(schema.text);
    return json();
  };
  const json aggregate = parsed("aggregate"), explain = parsed("explain");
  for (const char* key : {"case", "case_sources", "topology", "input", "environment", "reproduce"}) {
    INFO(key);
    CHECK(aggregate.at("properties").at(key) == explain.at("properties").at(key));
  }
  for (const auto& [key, value] : explain.at("definitions").items()) {
    INFO(key);
    if (key != "hypothesis") CHECK(aggregate.at("definitions").at(key) == value);
  }
}

TEST_CASE("schemas: an unknown key or a null is refused in every place") {
  AggregateReport once = samples::with_extras();  // of what it holds twice, one is enough
  once.candidates->pop_back();
  once.recorded->erase(once.recorded->begin());
  once.pairs->pop_back();
  check_refused_everywhere("aggregate", json::parse(to_json(once)));
  check_refused_everywhere("explain", json::parse(to_json(samples::explained())));
  check_refused_everywhere("aggregate", json::parse(to_json(samples::nonfinite())));
  check_refused_everywhere("rank", json::parse(to_json(samples::failed_rank())));
  check_refused_everywhere("rank", json::parse(to_json(samples::rank())));
  check_refused_everywhere("run", json::parse(to_json(samples::run_info())));
}
