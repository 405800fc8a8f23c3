// The documents byte for byte where it matters: order of keys, numbers that read back, nothing null.

#include "report/to_json.hpp"

#include <bit>
#include <cmath>
#include <random>

#include "report/number.hpp"
#include "sample_reports.hpp"
#include "support/catch.hpp"

using namespace drift;

namespace {

std::vector<std::string> keys(const Json& object) {
  std::vector<std::string> out;
  for (const auto& [key, value] : object.items()) out.push_back(key);
  return out;
}

using Keys = std::vector<std::string>;

bool has_null(const Json& json) {
  if (json.is_null()) return true;
  if (json.is_structured())
    for (const Json& part : json)
      if (has_null(part)) return true;
  return false;
}

}  // namespace

TEST_CASE("to_json: the aggregate's keys stand in the schema's order") {
  AggregateReport report = samples::nonfinite();
  const Json json = Json::parse(to_json(report));
  CHECK(keys(json) == Keys{"schema", "status", "exit_code", "scope", "case", "case_sources", "case_id",
                           "topology", "contract", "input", "oracle", "candidates", "rejected", "recorded",
                           "gates", "ranks", "environment", "error", "reproduce"});
  CHECK(keys(json["case"]) == Keys{"dump", "tp", "cp", "formula", "temperature", "vocab_bounds"});
  CHECK(keys(json["case_sources"]) == Keys{"tp", "temperature", "cp"});
  CHECK(keys(json["topology"]) == Keys{"world", "tp", "cp", "cp_layout"});
  CHECK(keys(json["contract"]) == Keys{"fingerprint", "sharding", "mask", "reduction", "output"});
  CHECK(keys(json["contract"]["reduction"]) == Keys{"merge", "axis", "acc_dtype", "order", "transport",
                                                    "downcast_at", "cp_is_merge_axis", "determinism"});
  CHECK(keys(json["input"]) == Keys{"files", "logits", "targets", "mask", "vocabulary", "rows", "active_rows",
                                    "masked_values", "nonfinite"});
  CHECK(keys(json["input"]["logits"]) == Keys{"name", "dtype", "shape", "digest", "rounded_values"});
  CHECK(keys(json["oracle"]) == Keys{"implementation", "backend", "certified", "digests"});
  CHECK(keys(json["candidates"][0]) == Keys{"formula", "backend", "transport", "claims", "drift",
                                            "input_rounding", "worst", "replicated", "digests"});
  CHECK(keys(json["candidates"][1]) ==
        Keys{"formula", "backend", "transport", "claims", "drift", "worst", "replicated", "digests"});
  CHECK(keys(json["candidates"][0]["drift"]["lse"]) ==
        Keys{"count", "nonfinite", "mismatch_count", "bit_mismatch_count", "max_abs", "mean_abs", "mean",
             "rms", "p50", "p95", "p99", "p999", "max_rel", "max_ulp", "ulp_histogram"});
  CHECK(keys(json["candidates"][1]["worst"]["logp"][0]) == Keys{"row", "position", "target", "owner_tp_rank",
                                                                "candidate", "reference", "abs", "ulp",
                                                                "candidate_bits", "reference_bits"});
  CHECK(keys(json["candidates"][1]["worst"]["lse"][0]) ==
        Keys{"row", "position", "candidate", "reference", "abs", "ulp", "candidate_bits", "reference_bits"});
  CHECK(keys(json["recorded"][0]) == Keys{"name", "kind", "dtype", "digest", "vs"});
  CHECK(keys(json["recorded"][0]["vs"]) == Keys{"oracle", "fixed-tree"});
  CHECK(keys(json["gates"][0]) == Keys{"name", "limit", "value", "rows_over", "passed", "from"});
  CHECK(keys(json["ranks"][0]) == Keys{"file", "digest", "rank", "tp_rank", "cp_rank", "rows", "columns"});
  CHECK(keys(json["error"]) == Keys{"code", "class", "rank", "phase", "message"});
}

TEST_CASE("to_json: what pairs, strata and options add, in the schema's order") {
  const Json json = Json::parse(to_json(samples::with_extras()));
  CHECK(keys(json) == Keys{"schema", "status", "exit_code", "scope", "case", "case_sources", "case_id",
                           "topology", "contract", "input", "oracle", "candidates", "rejected", "recorded",
                           "pairs", "gates", "ranks", "environment", "reproduce"});
  CHECK(keys(json["input"]) == Keys{"files", "logits", "targets", "mask", "temperature", "kept", "vocabulary",
                                    "rows", "active_rows", "masked_values", "nonfinite"});
  CHECK(json["input"]["kept"].dump() ==
        R"({"from":"top_k 50, top_p 0.9","fewest":1,"most":50,"boundary_rows":2})");
  CHECK(
      json["oracle"]["row_stats"].dump() ==
      R"({"entropy":{"mean":1.5,"least":0.0,"greatest":3.0},"sum_p2":{"mean":0.5,"least":0.1,"greatest":1.0}})");
  CHECK(keys(json["recorded"][1]) == Keys{"name", "file", "kind", "dtype", "digest", "vs"});
  CHECK(keys(json["recorded"][0]["vs"]["oracle"]) == Keys{"drift", "worst", "noise", "strata"});
  CHECK(keys(json["recorded"][0]["vs"]["fixed-tree"]) == Keys{"drift", "worst"});
  CHECK(json["recorded"][0]["vs"]["oracle"]["noise"].dump() ==
        R"({"count":3,"sigma_median":0.001,"median":0.5,"p99":2.0,"max":"inf","share_over_6":0.25})");
  CHECK(keys(json["recorded"][0]["vs"]["oracle"]["strata"]) == Keys{"logp", "position", "segment"});
  CHECK(
      json["recorded"][0]["vs"]["oracle"]["strata"]["segment"].dump() ==
      R"([{"name":"1","count":3,"mismatch_count":2,"mean":0.125,"mean_abs":0.125,"rms":0.125,"max_abs":0.25}])");
  const Json& pair = json["pairs"][0];
  CHECK(keys(pair) == Keys{"name", "a", "b", "kind", "permuted", "drift", "worst", "strata", "metrics",
                           "framework_metrics"});
  CHECK(keys(json["pairs"][1]) == Keys{"name", "a", "b", "kind", "permuted", "drift", "worst", "strata"});
  Keys metrics;
  for (const Metric& metric : mismatch_metrics()) metrics.emplace_back(metric.key);
  CHECK(keys(pair["metrics"]) == metrics);
  CHECK(pair["metrics"]["k3"] == 1e-4);
  CHECK(pair["metrics"]["ratio_max"] == "inf");
  CHECK(pair["metrics"]["prob_pearson"] == "nan");
  CHECK(pair["framework_metrics"].dump() ==
        R"({"rollout_corr/k3_kl":0.0001,"rollout_corr/rollout_is_max":2.0})");
}

TEST_CASE("to_json: without logits nothing speaks of them") {
  const Json json = Json::parse(to_json(samples::pairs_alone()));
  CHECK(keys(json) == Keys{"schema", "status", "exit_code", "scope", "case", "case_sources", "case_id",
                           "topology", "input", "recorded", "pairs", "gates", "ranks", "environment",
                           "reproduce"});
  CHECK(keys(json["input"]) ==
        Keys{"files", "targets", "mask", "rows", "active_rows", "masked_values", "nonfinite"});
  CHECK(json["recorded"][0]["vs"] == Json::object());
}

TEST_CASE("to_json: the explanation's keys stand in the schema's order") {
  const Json json = Json::parse(to_json(samples::explained()));
  CHECK(keys(json) == Keys{"schema", "status", "exit_code", "case", "case_sources", "case_id", "topology",
                           "input", "findings", "environment", "reproduce"});
  CHECK(keys(json["findings"][0]) == Keys{"name", "dtype", "digest", "finding", "sentence", "rows",
                                          "drifting", "best", "others", "excluded", "untestable", "parts",
                                          "looks", "drift", "noise"});
  CHECK(
      json["findings"][0]["best"].dump() ==
      R"([{"causes":[{"id":"temperature_native","what":"temperature in the logits' dtype","remedy":"divide in fp32"}],)"
      R"("bits":3,"within":3,"residual":{"mean_abs":0.0,"max_abs":0.0},"formula":"fixed-tree"}])");
  CHECK(json["findings"][0]["others"][0]["residual"]["max_abs"] == "inf");
  CHECK(json["findings"][0]["parts"][0].dump() == R"({"name":"temperature","mean":-0.001,"mean_abs":0.001})");
  CHECK(keys(Json::parse(to_json(samples::not_explained()))) == Keys{"schema", "status", "exit_code", "case",
                                                                     "case_sources", "case_id", "environment",
                                                                     "error", "reproduce"});
}

TEST_CASE("to_json: a failure's report holds what was reached and no more") {
  CHECK(keys(Json::parse(to_json(samples::bare()))) == Keys{"schema", "status", "exit_code", "scope", "case",
                                                            "case_sources", "case_id", "environment", "error",
                                                            "reproduce"});
}

TEST_CASE("to_json: values come through") {
  const Json json = Json::parse(to_json(samples::passed()));
  CHECK(json["case"]["temperature"] == 0.7);
  CHECK(json["case"]["vocab_bounds"] == Json::array());
  CHECK(json["input"]["files"][0]["bytes"] == "9007199254740993");
  CHECK(json["ranks"][1]["rows"].dump() == "[[0,8]]");
  CHECK(json["ranks"][1]["columns"].dump() == "[100,200]");
  CHECK(json["candidates"][0]["drift"]["lse"]["ulp_histogram"].dump() == R"({"0":1,"2":2})");
  const Json& token = json["candidates"][0]["worst"]["logp"][0];
  CHECK(token["position"].dump() == "[0,5]");
  CHECK(token["candidate_bits"] == "0xbfa00000");
  CHECK(token["reference_bits"] == "0xbfc00000");
  CHECK(token["abs"] == 0.25);
  CHECK(token["ulp"] == 0x200000);
}

TEST_CASE("to_json: numbers that are not finite are words, never null") {
  for (const std::string& text : {to_json(samples::nonfinite()), to_json(samples::run_info())})
    CHECK_FALSE(has_null(Json::parse(text)));
  const Json json = Json::parse(to_json(samples::nonfinite()));
  const Json& drift = json["candidates"][0]["drift"]["logp"];
  CHECK(drift["max_abs"] == "inf");
  CHECK(drift["mean"] == "-inf");
  CHECK(drift["rms"] == "nan");
  CHECK(json["candidates"][0]["worst"]["logp"][0]["abs"] == "nan");
  CHECK(json["candidates"][0]["worst"]["logp"][0]["candidate_bits"] == "0x7fc00000");
}

TEST_CASE("to_json: the same report gives the same bytes, indented, with a newline at the end") {
  const std::string text = to_json(samples::passed());
  CHECK(text == to_json(samples::passed()));
  CHECK(text.starts_with("{\n  \"schema\": {\n    \"name\": \"drift-audit/aggregate\",\n"));
  CHECK(text.ends_with("\n}\n"));
}

TEST_CASE("to_json: a path that is not UTF-8 does not lose the report") {
  AggregateReport report = samples::bare();
  report.case_values[0].second = std::string("dump\xff.safetensors");
  CHECK(Json::parse(to_json(report))["case"]["dump"] == "dump\xef\xbf\xbd.safetensors");
}

TEST_CASE("to_json: rank and run documents") {
  CHECK(keys(Json::parse(to_json(samples::failed_rank()))) ==
        Keys{"schema", "status", "exit_code", "case_id", "rank", "tp_rank", "cp_rank", "rows", "columns",
             "backend", "transport", "device_model", "oracle_rows", "nonfinite", "candidates", "error"});
  const Json run = Json::parse(to_json(samples::run_info()));
  CHECK(run["seconds"].dump() == R"({"open":0.25,"candidate":"nan"})");
  CHECK(run["bytes_read"] == "9007199254740993");
}

TEST_CASE("number: every finite fp32 and fp64 reads back to its bits") {
  std::mt19937_64 random(5);
  for (int i = 0; i < 20000; ++i) {
    const auto single = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    const auto wide = std::bit_cast<double>(random());
    for (const double value : {static_cast<double>(single), wide}) {
      if (!std::isfinite(value)) continue;
      const auto back = Json::parse(number(value).dump()).get<double>();
      REQUIRE(std::bit_cast<std::uint64_t>(back) == std::bit_cast<std::uint64_t>(value));
    }
  }
  CHECK(number(-0.0).dump() == "-0.0");
  CHECK(number(samples::nan) == "nan");
  CHECK(number(-samples::nan) == "nan");
  CHECK(number(samples::infinity) == "inf");
  CHECK(number(-samples::infinity) == "-inf");
}

TEST_CASE("number_of: reads what number wrote and nothing else") {
  CHECK(number_of(Json(1.5)) == 1.5);
  CHECK(number_of(Json(3)) == 3.0);
  CHECK(number_of(Json("inf")) == samples::infinity);
  CHECK(number_of(Json("-inf")) == -samples::infinity);
  CHECK(std::isnan(*number_of(Json("nan"))));
  CHECK_FALSE(number_of(Json("1.5")));
  CHECK_FALSE(number_of(Json(true)));
  CHECK_FALSE(number_of(Json()));
}

TEST_CASE("bits_text: 8 hex digits, high first") {
  CHECK(bits_text(1.0f) == "0x3f800000");
  CHECK(bits_text(-0.0f) == "0x80000000");
  CHECK(bits_text(0.0f) == "0x00000000");
}
