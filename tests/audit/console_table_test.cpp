#include "audit/console_table.hpp"

#include <algorithm>

#include "audit/text_grid.hpp"
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
  input.logits = {.name = "logits", .dtype = "BF16", .digest = "", .shape = {2, 3, 8}};
  input.targets.name = "targets";
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
  CHECK(verdict_line(report, "out").rfind("DRIFT: ", 0) == 0);
}

TEST_CASE("console_table: a candidate beyond its limit says in how many rows, and shows its worst tokens") {
  AggregateReport report = passing();
  (*report.gates)[1].passed = false;
  (*report.gates)[1].rows_over = 3;
  const auto lines = console_table(report, "out", {});
  INFO(text(lines));
  CHECK(has(lines, "DRIFT in 3 rows"));
  CHECK(has(lines, "# worst of fixed-tree logp"));
  CHECK(has(lines, "-0.25"));
}

TEST_CASE("console_table: rows without a log-prob are located") {
  AggregateReport report = passing();
  report.input->nonfinite_active = 3;
  report.input->nonfinite = {{.row = 2, .column = 5, .owner_tp_rank = 1, .kind = "nan"}};
  const auto lines = console_table(report, "out", {});
  INFO(text(lines));
  CHECK(has(lines, "nonfinite  row 2  column 5  owner tp 1  nan"));
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

TEST_CASE("text_grid: numbers for people") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(-1234567) == "-1,234,567");
  CHECK(short_number(0) == "0");
  CHECK(short_number(1.1920929e-07) == "1.19e-07");
  CHECK(byte_text(1023) == "1023 B");
  CHECK(byte_text(64 << 20) == "64.0 MiB");
}

}  // namespace drift
