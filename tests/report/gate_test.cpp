// --gate: what an expression means, and what it says when it means nothing.

#include "report/gate.hpp"

#include <cmath>

#include "base/error.hpp"
#include "report/to_json.hpp"
#include "sample_reports.hpp"
#include "support/catch.hpp"

using namespace drift;

namespace {

GateReport run_gate(const std::string& text, const AggregateReport& report = samples::passed()) {
  return evaluate(parse_gate(text), ReportValues(report));
}

std::string message(const std::string& text, Fault wanted = Fault::usage) {
  try {
    run_gate(text);
  } catch (const Error& error) {
    CHECK(error.fault() == wanted);
    return error.what();
  }
  return "nothing was thrown";
}

bool says(const std::string& text, const std::string& part) {
  INFO(message(text));
  return message(text).find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("gate: the parts of an expression") {
  const Gate gate = parse_gate("  recorded[\"old.policy \\\"x\\\"\"].vs.oracle.worst[0].abs<=1.5e-3 ");
  CHECK(gate.path ==
        std::vector<std::string>{"recorded", "old.policy \"x\"", "vs", "oracle", "worst", "0", "abs"});
  CHECK(gate.relation == Relation::at_most);
  CHECK(gate.limit == 1.5e-3);
  CHECK(parse_gate("a==-1").limit == -1);
  CHECK(parse_gate("a > +2").limit == 2);
  CHECK(parse_gate("a < inf").limit == samples::infinity);
  CHECK(parse_gate("a >= 0").relation == Relation::at_least);
  CHECK(parse_gate("a != 0").relation == Relation::not_equal);
}

TEST_CASE("gate: the contract's example") {
  const GateReport gate = run_gate("recorded.rollout_logprobs.vs.oracle.mismatch_count == 0");
  CHECK(gate.name == "recorded.rollout_logprobs.vs.oracle.mismatch_count == 0");
  CHECK(gate.value == 2);
  CHECK(gate.limit == 0);
  CHECK_FALSE(gate.passed);
  CHECK(gate.from == "option");
}

TEST_CASE("gate: paths by key, index, formula and name, with and without drift") {
  const std::vector<std::pair<std::string, double>> cases{
      {"candidates.fixed-tree.drift.lse.max_abs", 1e-6},
      {"candidates.fixed-tree.lse.max_abs", 1e-6},
      {"candidates.megatron-unfused.logp.max_abs", 2e-6},
      {"candidates.1.logp.max_abs", 2e-6},
      {"candidates[1].drift.logp.max_abs", 2e-6},
      {"recorded.rollout_logprobs.vs.fixed-tree.drift.max_ulp", 2},
      {"recorded[\"old.policy \\\"x\\\"\"].vs.oracle.max_ulp", 2},
      {"recorded.0.vs.oracle.worst.0.ulp", 0x200000},
      {"recorded.0.vs.oracle.ulp_histogram.2", 2},
      {"gates[\"candidates.fixed-tree.lse\"].rows_over", 0},
      {"oracle.certified.lse_worst", 0.25},
      {"input.active_rows", 3},
      {"exit_code", 0},
      {"case.temperature", 0.7}};
  for (const auto& [path, value] : cases) {
    INFO(path);
    CHECK(run_gate(path + " >= 0").value == value);
  }
}

TEST_CASE("gate: relations") {
  for (const auto& [expression, passed] :
       std::vector<std::pair<std::string, bool>>{{"input.active_rows == 3", true},
                                                 {"input.active_rows == 4", false},
                                                 {"input.active_rows != 3", false},
                                                 {"input.active_rows != 4", true},
                                                 {"input.active_rows < 3", false},
                                                 {"input.active_rows < 4", true},
                                                 {"input.active_rows <= 3", true},
                                                 {"input.active_rows <= 2", false},
                                                 {"input.active_rows > 3", false},
                                                 {"input.active_rows > 2", true},
                                                 {"input.active_rows >= 3", true},
                                                 {"input.active_rows >= 4", false}}) {
    INFO(expression);
    CHECK(run_gate(expression).passed == passed);
  }
}

TEST_CASE("gate: NaN fails every relation, infinity is larger than all numbers") {
  const AggregateReport report = samples::nonfinite();
  for (const char* relation : {"==", "!=", "<", "<=", ">", ">="}) {
    const GateReport gate =
        run_gate("candidates.fixed-tree.logp.rms " + std::string(relation) + " 0", report);
    CHECK_FALSE(gate.passed);
    CHECK(std::isnan(gate.value));
  }
  CHECK(run_gate("candidates.fixed-tree.logp.max_abs > 1e300", report).passed);
  CHECK_FALSE(run_gate("candidates.fixed-tree.logp.max_abs < 1e300", report).passed);
  CHECK(run_gate("candidates.fixed-tree.logp.mean < -1e300", report).passed);
}

TEST_CASE("gate: syntax errors name the place") {
  CHECK(says("", "at character 1 seen its end, wanted a key"));
  CHECK(says("a.b", "at character 4 seen its end, wanted a comparison"));
  CHECK(says("a..b == 0", "at character 3 seen '.b == 0', wanted a key"));
  CHECK(says("a = 0", "at character 3 seen '= 0', wanted a comparison"));
  CHECK(says("a => 0", "at character 3"));
  CHECK(says("a == x", "at character 6 seen 'x', wanted a number"));
  CHECK(says("a == nan", "wanted a number"));
  CHECK(says("a == 1 2", "at character 8 seen '2', wanted the end"));
  CHECK(says("a == 1e-5x", "wanted the end"));
  CHECK(says("a == +-1", "wanted"));
  CHECK(says("a[b] == 0", "wanted an index or a name in"));
  CHECK(says("a[\"b == 0", "wanted a closing \""));
  CHECK(says("a[0 == 0", "wanted a closing ]"));
  CHECK(says("a[0]b == 0", "wanted a comparison"));
  CHECK(says(". == 0", "wanted a key"));
}

TEST_CASE("gate: a path that selects nothing lists the nearest keys") {
  CHECK(says("recorded.rollout_logprob.vs.oracle.max_abs == 0",
             "recorded has no 'rollout_logprob'; nearest are rollout_logprobs"));
  CHECK(says("candidate.fixed-tree.lse.max_abs == 0", "nearest are candidates"));
  CHECK(says("candidates.fixed-tree.lse.maxabs == 0",
             "candidates.fixed-tree.lse has no 'maxabs'; nearest are max_abs"));
  CHECK(says("candidates.7.lse.max_abs == 0", "candidates has no '7'"));
  CHECK(says("error.code == 0", "it has no 'error'"));
  CHECK(says("input.rows.more == 0", "nearest are nothing"));
}

TEST_CASE("gate: a path to something else than a number says what is there") {
  CHECK(says("status == 0", "status of the report is no number: \"pass\""));
  CHECK(says("candidates.fixed-tree.lse == 0", "is a group with the keys count"));
  CHECK(says("candidates.fixed-tree.replicated == 1", "no number: true"));
  CHECK(says("input.files.0.bytes > 1", "no number"));
}

TEST_CASE("gate: reads a document that to_json wrote, and no other") {
  CHECK(ReportValues(to_json(samples::passed())).number({"input", "rows"}, "x") == 8);
  CHECK_THROWS_AS(ReportValues(std::string("[]")), Error);
  CHECK_THROWS_AS(ReportValues(std::string("{")), Error);
}
