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

TEST_CASE("gate: a recorded comparison with rows that are not finite passes no gate but on their number") {
  AggregateReport report = samples::passed();
  report.recorded->front().vs.front().second.drift.nonfinite = 3;
  for (const char* path : {"recorded.rollout_logprobs.vs.oracle.max_abs", "recorded[0].vs.oracle.drift.rms",
                           "recorded.0.vs.oracle.mismatch_count", "recorded.00.vs.oracle.worst.0.abs",
                           "recorded[\"rollout_logprobs\"].vs.oracle.ulp_histogram.2"})
    for (const char* relation : {" <= 1e9", " >= 0", " != 77"}) {
      INFO(path << relation);
      const GateReport gate = run_gate(std::string(path) + relation, report);
      CHECK_FALSE(gate.passed);
      CHECK(gate.rows_over == 3);
      CHECK(std::isfinite(gate.value));
    }
  for (const char* text :
       {"recorded.rollout_logprobs.vs.oracle.count == 3",
        "recorded.rollout_logprobs.vs.oracle.nonfinite <= 3",
        "recorded.rollout_logprobs.vs.oracle.drift.nonfinite == 3",
        "recorded.rollout_logprobs.vs.fixed-tree.max_abs <= 1e-5",  // its own is 0
        "recorded[1].vs.oracle.max_abs <= 1e-5", "candidates.fixed-tree.lse.max_abs <= 1e-5"}) {
    INFO(text);
    const GateReport gate = run_gate(text, report);
    CHECK(gate.passed);
    CHECK(gate.rows_over == 0);
  }
  CHECK_FALSE(run_gate("recorded.rollout_logprobs.vs.oracle.nonfinite == 0", report).passed);
}

TEST_CASE("gate: paths into pairs, metrics, strata and noise") {
  const AggregateReport report = samples::with_extras();
  for (const auto& [path, value] : std::vector<std::pair<std::string, double>>{
           {"pairs.log_probs:rollout_logprobs.metrics.k3", 1e-4},
           {"pairs.log_probs:rollout_logprobs.max_abs", 1e-6},
           {"pairs.log_probs:rollout_logprobs.drift.count", 3},
           {"pairs[0].metrics.tokens", 0},
           {"pairs.0.framework_metrics[\"rollout_corr/k3_kl\"]", 1e-4},
           {"pairs.0.framework_metrics.rollout_corr/rollout_is_max", 2},
           {"pairs[\"oracle:lse\"].mismatch_count", 2},
           {"pairs.0.strata.position[\"4..7\"].count", 2},
           {"recorded.rollout_logprobs.vs.oracle.strata.logp[\"0..0.01\"].count", 1},
           {"recorded.rollout_logprobs.vs.oracle.strata.logp[\"0.1..1\"].max_abs", 1e-6},
           {"recorded.rollout_logprobs.vs.oracle.strata.position.0.rms", 5e-7},
           {"recorded.rollout_logprobs.vs.oracle.strata.segment[\"1\"].max_abs",
            0.25},  // a name, not an index
           {"recorded.rollout_logprobs.vs.oracle.strata.segment[0].max_abs", 0.25},
           {"recorded.rollout_logprobs.vs.oracle.noise.p99", 2},
           {"recorded.rollout_logprobs.vs.oracle.noise.max", samples::infinity},
           {"oracle.row_stats.entropy.mean", 1.5},
           {"input.kept.boundary_rows", 2}}) {
    INFO(path);
    CHECK(run_gate(path + " >= 0", report).value == value);
  }
  CHECK(run_gate("pairs.log_probs:rollout_logprobs.metrics.k3 <= 1e-3", report).passed);
  CHECK_FALSE(run_gate("pairs.log_probs:rollout_logprobs.metrics.k3 <= 1e-5", report).passed);
  CHECK_FALSE(run_gate("pairs.log_probs:rollout_logprobs.metrics.prob_pearson <= 1", report).passed);  // NaN
  CHECK(says("pairs.log_probs:rollout_logprobs.metrics.k3 <= 1", "it has no 'pairs'"));
}

TEST_CASE("gate: a pair with rows that are not finite passes no gate but on their number") {
  AggregateReport report = samples::pairs_alone();
  report.pairs->front().compared.drift.nonfinite = 3;
  for (const char* path :
       {"pairs.log_probs:rollout_logprobs.max_abs", "pairs[0].metrics.k3", "pairs.0.drift.rms",
        "pairs.0.strata.logp[\"0..0.01\"].max_abs", "pairs.0.framework_metrics.rollout_corr/k3_kl"}) {
    INFO(path);
    const GateReport gate = run_gate(std::string(path) + " <= 1e9", report);
    CHECK_FALSE(gate.passed);
    CHECK(gate.rows_over == 3);
  }
  CHECK(run_gate("pairs.0.count == 3", report).passed);
  CHECK(run_gate("pairs.0.nonfinite == 3", report).passed);
  CHECK(run_gate("pairs.0.drift.nonfinite == 3", report).passed);
}

TEST_CASE("gate: which pair an expression is about") {
  const auto about = [](const std::string& text, std::size_t index, const std::string& name) {
    return is_about_pair(parse_gate(text), index, name);
  };
  CHECK(about("pairs.a:b.metrics.k3 < 1", 4, "a:b"));
  CHECK(about("pairs[1].max_abs < 1", 1, "a:b"));
  CHECK_FALSE(about("pairs[1].max_abs < 1", 0, "a:b"));
  CHECK_FALSE(about("pairs.a:b.max_abs < 1", 0, "a:c"));
  CHECK_FALSE(about("recorded.a:b.max_abs < 1", 0, "a:b"));
  CHECK_FALSE(is_about(parse_gate("pairs.a.vs.oracle.max_abs < 1"), 0, "a", "oracle"));
}

TEST_CASE("gate: statistics of no row fail every gate, their count passes") {
  AggregateReport report = samples::passed();
  report.recorded->front().vs.front().second.drift = samples::no_rows();
  CHECK_FALSE(run_gate("recorded.0.vs.oracle.max_abs <= 1", report).passed);
  CHECK_FALSE(run_gate("recorded.0.vs.oracle.mean == 0", report).passed);
  CHECK(run_gate("recorded.0.vs.oracle.count == 0", report).passed);
  CHECK_FALSE(run_gate("recorded.0.vs.oracle.count >= 1", report).passed);
}

TEST_CASE("gate: an expression is told from a limit by what it is") {
  const auto named = [](const std::string& name, const std::string& from) {
    GateReport gate;
    gate.name = name;
    gate.from = from;
    return gate;
  };
  CHECK(is_expression(named("candidates.fixed-tree.lse.max_abs <= 1e-5", "option")));
  CHECK(is_expression(named("recorded[0].vs.oracle.max_abs<1", "option")));
  CHECK_FALSE(is_expression(named("candidates.fixed-tree.lse", "option")));  // --atol
  CHECK_FALSE(is_expression(named("candidates.fixed-tree.lse", "derived")));
}

TEST_CASE("gate: which recorded comparison an expression is about") {
  const auto about = [](const std::string& text, std::size_t index, const std::string& name,
                        const std::string& reference = "oracle") {
    return is_about(parse_gate(text), index, name, reference);
  };
  CHECK(about("recorded.old_log_probs.vs.oracle.max_abs < 1", 1, "old_log_probs"));
  CHECK_FALSE(about("recorded.old_log_probs.vs.oracle.max_abs < 1", 0, "log_probs"));
  CHECK(about("recorded[0].vs.oracle.max_abs < 1", 0, "log_probs"));
  CHECK(about("recorded.1.vs.oracle.max_abs < 1", 1, "old_log_probs"));
  CHECK_FALSE(about("recorded[0].vs.oracle.max_abs < 1", 1, "old_log_probs"));
  CHECK(about("recorded[\"a.b c\"].vs.oracle.max_abs < 1", 3, "a.b c"));
  CHECK_FALSE(about("recorded.x.vs.fixed-tree.max_abs < 1", 0, "x"));
  CHECK(about("recorded.x.vs.fixed-tree.max_abs < 1", 0, "x", "fixed-tree"));
  CHECK_FALSE(about("candidates.x.vs.oracle.max_abs < 1", 0, "x"));
  CHECK_FALSE(about("input.rows == 4", 0, "rows"));
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

TEST_CASE("gate: names with dots are suggested in the form that works, and it does work") {
  AggregateReport report = samples::pairs_alone();
  report.pairs->front().name = "old:d/x.safetensors:y";
  report.pairs->push_back(report.pairs->front());
  report.pairs->back().name = "old:new";
  const auto refusal = [&](const std::string& text) -> std::string {
    try {
      run_gate(text, report);
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  const std::string cut = refusal("pairs.old:d/x.safetensors:y.metrics.k3 <= 1");
  INFO(cut);
  CHECK(cut.find("pairs has no 'old:d/x'; nearest are pairs[\"old:d/x.safetensors:y\"], old:new") !=
        std::string::npos);
  CHECK(run_gate("pairs[\"old:d/x.safetensors:y\"].metrics.k3 <= 1", report).passed);
  const std::string whole = refusal("pairs <= 1");
  INFO(whole);
  CHECK(whole.find("pairs[\"old:d/x.safetensors:y\"], old:new") != std::string::npos);
  const std::string quotes = refusal("recorded.a.vs.oracle.max_abs <= 1");
  CHECK(quotes.find("nearest are log_probs, rollout_logprobs") != std::string::npos);
  CHECK(says("recorded.x == 0", "recorded[\"old.policy \\\"x\\\"\"]"));
  CHECK(run_gate("recorded[\"old.policy \\\"x\\\"\"].vs.oracle.max_ulp == 2").passed);
  CHECK(says("recorded[\"old.policy \\\"x\\\"\"].with == 0",
             "recorded[\"old.policy \\\"x\\\"\"] has no 'with'"));
}

TEST_CASE("gate: a key that stands one level further down is named there") {
  const AggregateReport report = samples::pairs_alone();
  const auto refusal = [&](const std::string& text) -> std::string {
    try {
      run_gate(text, report);
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  CHECK(refusal("pairs.0.k3 <= 1").find("has no 'k3'; nearest are metrics.k3, ") != std::string::npos);
  CHECK(says("candidates.fixed-tree.max_abs <= 1",
             "candidates.fixed-tree has no 'max_abs'; nearest are lse.max_abs, logp.max_abs, "));
  CHECK(says("recorded.rollout_logprobs.oracle.max_abs <= 1", "nearest are vs.oracle, "));
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
