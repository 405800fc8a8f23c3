#include "audit/console_table.hpp"

#include <algorithm>

#include "support/catch.hpp"

namespace drift {
namespace {

AggregateReport passing() {
  AggregateReport report;
  report.status = "pass";
  report.exit_code = 0;
  report.scope = "self-check";
  report.case_values = {{"dump", std::string("d.safetensors")},    {"temperature", 0.7},
                        {"temperature_order", std::string("f32")}, {"candidate_dtype", std::string("stored")},
                        {"padding", std::string("mask")},          {"ignore_index", std::int64_t{-100}}};
  report.case_sources = {{"dump", "option"}, {"temperature", "metadata"}};
  report.topology = AggregateReport::Topology{.world = 4, .tp = 2, .cp = 2, .cp_layout = "zigzag"};
  InputReport input;
  input.logits = TensorReport{.name = "logits", .dtype = "BF16", .digest = "", .shape = {2, 3, 8}};
  input.targets = TensorReport{.name = "targets", .dtype = "I64", .digest = "", .shape = {2, 3}};
  input.real_vocab = 6;
  input.padded_vocab = 8;
  input.rows = 6;
  input.active_rows = 5;
  report.input = input;
  report.oracle = OracleReport{.implementation = "oracle",
                               .backend = "cpu",
                               .certified_rows = 1,
                               .lse_worst = 0.25,
                               .logp_worst = 0.5,
                               .digests = {}};
  CandidateReport candidate;
  candidate.formula = "fixed-tree";
  candidate.backend_requested = "auto";
  candidate.backend_actual = "cpu";
  candidate.transport_requested = "auto";
  candidate.transport_actual = "mpi";
  candidate.lse.drift.count = 6;
  candidate.logp.drift.count = 5;
  candidate.logp.drift.max_abs = 1.1920929e-07;
  candidate.logp.drift.max_ulp = 1234;
  candidate.logp.drift.mismatch_count = 2;
  candidate.logp.worst = {{.row = 4,
                           .position = {1, 1},
                           .target = 3,
                           .owner_tp_rank = 1,
                           .candidate = -0.5f,
                           .reference = -0.25f}};
  report.candidates = {candidate};
  report.gates = {
      {.name = "candidates.fixed-tree.lse", .limit = 1e-6, .from = "derived"},
      {.name = "candidates.fixed-tree.logp", .limit = 2e-6, .value = 1.1920929e-07, .from = "derived"}};
  report.reproduce = "mpirun -np 4 drift-audit run d.safetensors --tp 2 --cp 2";
  return report;
}

bool has(const std::vector<std::string>& lines, const std::string& part) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

std::string text(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

}  // namespace

TEST_CASE("console_table: says what ran, where answers came from, and the verdict last but one") {
  const auto lines = console_table(passing(), "drift-reports/abc", {});
  INFO(text(lines));
  CHECK(has(lines, "# dump         d.safetensors"));
  CHECK(has(lines, "BF16 [2, 3, 8]"));
  CHECK(has(lines, "0.7 (metadata)"));
  CHECK(has(lines, "tp 2 x cp 2 zigzag, 4 ranks"));
  CHECK(has(lines, "cpu (asked for auto), shards merged over mpi (asked for auto)"));
  CHECK(has(lines, "0.25 (lse) and 0.5 (logp) of its error bound"));
  REQUIRE(lines.size() > 2);
  CHECK(
      lines[lines.size() - 2] ==
      "PASS: 1 of 1 formulas within limits; self-check only: nothing that your system computed was compared; "
      "reports in drift-reports/abc");
  CHECK(lines.back() == "# reproduce    mpirun -np 4 drift-audit run d.safetensors --tp 2 --cp 2");
}

TEST_CASE("console_table: numbers stand under their headings") {
  const auto lines = console_table(passing(), "out", {});
  const auto heading = std::find_if(lines.begin(), lines.end(),
                                    [](const std::string& line) { return line.rfind("# nats", 0) == 0; });
  REQUIRE(heading != lines.end());
  const std::string lse = *(heading + 1), logp = *(heading + 2);
  const auto ends_under = [&](const std::string& line, const std::string& word, const std::string& column) {
    const std::size_t end = heading->find(column) + column.size();
    return line.substr(end - word.size(), word.size()) == word;
  };
  INFO(text(lines));
  CHECK(ends_under(lse, "0", "max_abs"));
  CHECK(ends_under(logp, "1.19e-07", "max_abs"));
  CHECK(ends_under(logp, "1,234", "max_ulp"));
  CHECK(ends_under(logp, "2", "differ"));
  CHECK(ends_under(logp, "2e-06", "limit"));
}

TEST_CASE("console_table: recorded values that no gate names are said to be not gated") {
  AggregateReport report = passing();
  report.scope = "user";
  Compared compared;
  compared.drift.count = 5;
  compared.drift.max_abs = 0.25;
  compared.worst = {{.row = 4,
                     .position = {1, 1},
                     .target = 3,
                     .owner_tp_rank = 1,
                     .candidate = -0.5f,
                     .reference = -0.25f}};
  report.recorded = {
      {.name = "rollout_logprobs", .dtype = "F32", .digest = "", .vs = {{"oracle", compared}}}};
  auto lines = console_table(report, "out", {});
  INFO(text(lines));
  CHECK(has(lines, "not gated"));
  CHECK(has(lines, "# worst of rollout_logprobs vs oracle"));
  CHECK(has(lines, "[1,1]"));
  CHECK(verdict_line(report, "out") ==
        "PASS: 1 of 1 formulas within limits, rollout_logprobs max_abs 0.25 (not gated); reports in out");

  report.gates->push_back({.name = "recorded.rollout_logprobs.vs.oracle.max_abs <= 0.1",
                           .limit = 0.1,
                           .value = 0.25,
                           .passed = false,
                           .from = "option"});
  report.status = "drift";
  lines = console_table(report, "out", {});
  INFO(text(lines));
  CHECK_FALSE(has(lines, "not gated"));
  CHECK(has(lines, "recorded.rollout_logprobs.vs.oracle.max_abs <= 0.1"));
  CHECK(
      verdict_line(report, "out") ==
      "DRIFT: gate 'recorded.rollout_logprobs.vs.oracle.max_abs <= 0.1' failed (seen 0.25), 1 of 1 formulas "
      "within limits, rollout_logprobs max_abs 0.25 (gated); reports in out");
}

TEST_CASE("console_table: a gate marks the tensor that it names, by name or index, and no other") {
  AggregateReport report = passing();
  report.scope = "user";
  Compared compared;
  compared.drift.count = 5;
  report.recorded = {{.name = "log_probs", .dtype = "F32", .digest = "", .vs = {{"oracle", compared}}},
                     {.name = "old_log_probs",
                      .dtype = "F32",
                      .digest = "",
                      .vs = {{"oracle", compared}, {"fixed-tree", compared}}}};
  const auto line = [&](const std::string& start) {
    for (const std::string& one : console_table(report, "out", {}))
      if (one.rfind(start, 0) == 0) return one;
    return std::string();
  };
  const auto gate = [&](const std::string& name, bool passed) {
    report.gates->resize(2);
    report.gates->push_back({.name = name, .limit = 1, .value = 0, .passed = passed, .from = "option"});
  };
  gate("recorded.old_log_probs.vs.oracle.max_abs < 1", true);
  CHECK(line("log_probs vs oracle").ends_with("not gated"));
  CHECK(line("old_log_probs vs oracle").ends_with("  pass"));
  CHECK(line("old_log_probs vs fixed-tree").ends_with("not gated"));
  CHECK(verdict_line(report, "out").find(", log_probs max_abs 0 (not gated) and 1 more recorded tensor;") !=
        std::string::npos);
  gate("recorded[0].vs.oracle.max_abs < 1", false);
  CHECK(line("log_probs vs oracle").ends_with("  DRIFT"));
  CHECK(line("old_log_probs vs oracle").ends_with("not gated"));
}

TEST_CASE("console_table: a gate on a candidate is shown, a limit from --atol is not taken for one") {
  AggregateReport report = passing();
  for (GateReport& limit : *report.gates) limit.from = "option";  // --atol
  CHECK_FALSE(has(console_table(report, "out", {}), "gate  "));
  report.status = "drift";
  report.gates->push_back({.name = "candidates.fixed-tree.logp.mismatch_count == 0",
                           .limit = 0,
                           .value = 1234567,
                           .passed = false,
                           .from = "option"});
  report.gates->push_back({.name = "input.rows == 6", .limit = 6, .value = 6, .from = "option"});
  const auto lines = console_table(report, "out", {});
  INFO(text(lines));
  CHECK(has(lines, "gate  candidates.fixed-tree.logp.mismatch_count == 0  seen 1,234,567  DRIFT"));
  CHECK(has(lines, "gate  input.rows == 6                                 seen 6          pass"));
  CHECK(verdict_line(report, "out")
            .rfind("DRIFT: gate "
                   "'candidates.fixed-tree.logp.mismatch_count == 0' failed (seen 1,234,567)",
                   0) == 0);
  for (int i = 0; i < 3; ++i) report.gates->push_back(report.gates->at(2));
  CHECK(verdict_line(report, "out").find(", and 2 more gates, 1 of 1 formulas within limits;") !=
        std::string::npos);
}

TEST_CASE("console_table: recorded values that are not finite are seen, in the table and in the verdict") {
  AggregateReport report = passing();
  report.scope = "user";
  report.status = "drift";
  Compared compared;
  compared.drift.count = 3;
  compared.drift.max_abs = 0.25;
  compared.drift.nonfinite = 2;
  report.recorded = {
      {.name = "rollout_logprobs", .dtype = "F32", .digest = "", .vs = {{"oracle", compared}}}};
  CHECK(has(console_table(report, "out", {}), "not gated, 2 not finite"));
  CHECK(has(console_table(report, "out", {}), "# 2 values of rollout_logprobs are not finite"));
  CHECK(verdict_line(report, "out").find(", rollout_logprobs max_abs 0.25, 2 not finite (not gated);") !=
        std::string::npos);
  report.gates->push_back({.name = "recorded.rollout_logprobs.vs.oracle.max_abs <= 1",
                           .limit = 1,
                           .value = 0.25,
                           .rows_over = 2,
                           .passed = false,
                           .from = "option"});
  INFO(text(console_table(report, "out", {})));
  CHECK(has(console_table(report, "out", {}), "seen 0.25  DRIFT, 2 rows not finite"));
  CHECK(has(console_table(report, "out", {}), "DRIFT, 2 not finite"));
  CHECK(verdict_line(report, "out").find("max_abs <= 1' failed (seen 0.25, 2 rows not finite)") !=
        std::string::npos);
  report.recorded->front().vs.front().second.drift.count = 0;
  CHECK(verdict_line(report, "out").find(", rollout_logprobs compared in no row, 2 not finite (gated)") !=
        std::string::npos);
}

TEST_CASE("console_table: no name breaks a line or speaks to the terminal") {
  AggregateReport report = passing();
  report.case_values[0].second = std::string("d\n\x1b[31m.safetensors");
  report.input->logits->name = "a\nPASS: b";
  report.recorded = {{.name = "x\ry", .dtype = "F32", .digest = "", .vs = {{"oracle", Compared{}}}}};
  const std::vector<std::string> warnings{"odd\x1b"};
  for (const std::string& line : console_table(report, "out\n", warnings))
    CHECK(line.find_first_of("\n\r\x1b") == std::string::npos);
  CHECK(verdict_line(report, "out\n").ends_with("reports in out\\x0a"));
}

TEST_CASE("console_table: a limit over no rows is no pass") {
  AggregateReport report = passing();
  report.status = "failed";
  report.exit_code = 3;
  report.error =
      ErrorReport{.code = 3, .fault = "input", .rank = 0, .phase = "compare", .message = "5 active rows"};
  CandidateReport& candidate = report.candidates->front();
  candidate.lse.drift = candidate.logp.drift = Drift{};
  candidate.lse.drift.nonfinite = 6;
  candidate.logp.drift.nonfinite = 5;
  const auto lines = console_table(report, "out", {});
  INFO(text(lines));
  CHECK(has(lines, "no rows, 6 not finite"));
  CHECK(has(lines, "no rows, 5 not finite"));
  CHECK_FALSE(has(lines, "  pass"));
  CHECK(verdict_line(report, "out")
            .rfind("FAILED: exit 3 (input) on rank 0 in compare: 5 active rows; no active row "
                   "could be compared; self-check only",
                   0) == 0);
}

TEST_CASE("console_table: a candidate beyond its limit says in how many rows, and shows its worst tokens") {
  AggregateReport report = passing();
  (*report.gates)[1].passed = false;
  (*report.gates)[1].rows_over = 3;
  const auto lines = console_table(report, "out", {});
  INFO(text(lines));
  CHECK(has(lines, "DRIFT in 3 rows"));
  report.status = "drift";
  report.candidates->push_back(report.candidates->front());
  report.candidates->back().formula = "other";
  CHECK(verdict_line(report, "out").rfind("DRIFT: 1 of 2 formulas over their limits (fixed-tree logp);", 0) ==
        0);
  CHECK(has(lines, "# worst of fixed-tree logp"));
  CHECK(has(lines, "-0.25"));
}

TEST_CASE("console_table: rows without a log-prob are located") {
  AggregateReport report = passing();
  report.input->nonfinite_active = 3;
  report.input->nonfinite = {{.row = 2, .column = 5, .owner_tp_rank = 1, .kind = "nan"}};
  const auto lines = console_table(report, "out", {});
  INFO(text(lines));
  CHECK(has(lines, "nonfinite  row 2  position [0,2]  column 5  owner tp 1  nan"));
  CHECK(has(lines, "and 2 more"));
}

TEST_CASE("console_table: a failure names code, class, rank, phase and cause") {
  AggregateReport report;
  report.exit_code = 3;
  report.error =
      ErrorReport{.code = 3, .fault = "input", .rank = 2, .phase = "load", .message = "mask holds 2"};
  CHECK(verdict_line(report, "") ==
        "FAILED: exit 3 (input) on rank 2 in load: mask holds 2; no report could be written");
  CHECK(console_table(report, "", std::vector<std::string>{"odd"}).size() > 2);
}

TEST_CASE("console_table: different replicas are shouted") {
  AggregateReport report = passing();
  report.candidates->front().replicated = false;
  CHECK(has(console_table(report, "out", {}), "REPLICAS DIFFER"));
}

}  // namespace drift
