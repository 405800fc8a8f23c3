// Many recorded tensors and all their pairs: the terminal shows the worst, and counts the rest.

#include <algorithm>
#include <cmath>

#include "audit/console_choice.hpp"
#include "audit/console_table.hpp"
#include "support/catch.hpp"

namespace drift {
namespace {

using Lines = std::vector<std::string>;

Compared compared(double max_abs, std::int64_t count = 4) {
  Compared out;
  out.drift.count = count;
  out.drift.max_abs = count == 0 ? std::nan("") : max_abs;
  out.drift.mismatch_count = 1;
  out.worst = {
      {.row = 1, .position = {1}, .target = 3, .owner_tp_rank = {}, .candidate = -0.5f, .reference = -0.25f},
      {.row = 2, .position = {2}, .target = 3, .owner_tp_rank = {}, .candidate = -0.5f, .reference = -0.5f}};
  for (const char* by : {"logp", "position"})
    out.strata.push_back({by, {{"0", count, 1, max_abs, max_abs, max_abs, max_abs}}});
  return out;
}

/// `tensors` recorded tensors, the i-th off by i, from files of their own; every pair of them.
AggregateReport crowd(std::size_t tensors, bool with_logits) {
  AggregateReport report;
  report.status = "pass";
  report.exit_code = 0;
  report.scope = "user";
  report.input.emplace();
  report.input->rows = report.input->active_rows = 4;
  report.recorded.emplace();
  report.pairs.emplace();
  report.gates.emplace();
  if (with_logits) {
    report.oracle.emplace();
    report.input->logits = TensorReport{.name = "logits", .dtype = "BF16", .digest = "", .shape = {4, 8}};
  }
  for (std::size_t i = 0; i < tensors; ++i) {
    RecordedReport recorded{.name = "runs/of/last/week/" + std::to_string(i) + ".safetensors:logprobs",
                            .dtype = "F32",
                            .digest = "",
                            .file = "runs/of/last/week/" + std::to_string(i) + ".safetensors",
                            .vs = {}};
    if (with_logits) {
      recorded.vs.emplace_back("oracle", compared(static_cast<double>(i)));
      recorded.vs.front().second.noise = Noise{4, 0.01, 0.5, 2, 3, 0.25};
    }
    for (std::size_t j = 0; j < i; ++j) {
      PairReport pair{.name = {},
                      .a = (*report.recorded)[j].name,
                      .b = recorded.name,
                      .compared = compared(static_cast<double>(i - j) / 16),
                      .metrics = Mismatch{},
                      .framework_metrics = {}};
      pair.name = pair.a + ":" + pair.b;
      report.pairs->push_back(std::move(pair));
    }
    report.recorded->push_back(std::move(recorded));
  }
  return report;
}

std::string text(const Lines& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

bool has(const Lines& lines, const std::string& part) { return text(lines).find(part) != std::string::npos; }

std::int64_t lines_with(const Lines& lines, const std::string& part) {
  return std::count_if(lines.begin(), lines.end(),
                       [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

std::size_t place(const Lines& lines, const std::string& start) {
  const auto found = std::find_if(lines.begin(), lines.end(),
                                  [&](const std::string& line) { return line.rfind(start, 0) == 0; });
  return static_cast<std::size_t>(found - lines.begin());
}

const Lines every_table{"all"};

}  // namespace

TEST_CASE("console_crowd: twenty tensors fit on a few screens, in lines that fit") {
  for (const bool with_logits : {true, false}) {
    const Lines lines =
        console_table(crowd(20, with_logits), "drift-reports/0123456789abcdef", {}, every_table);
    INFO(text(lines));
    CHECK(lines.size() < 120);
    for (const std::string& line : lines) CHECK(line.size() <= (line.rfind("PASS", 0) == 0 ? 180 : 160));
  }
}

TEST_CASE("console_crowd: the worst rows are shown, worst first, and the others counted") {
  const Lines lines = console_table(crowd(20, true), "out");
  INFO(text(lines));
  CHECK(lines_with(lines, "safetensors:logprobs vs oracle") == 8 + 3);  // and three blocks of worst tokens
  CHECK(place(lines, "19.safetensors:logprobs vs oracle") + 7 ==
        place(lines, "12.safetensors:logprobs vs oracle"));
  CHECK(place(lines, "# ... and 12 more comparisons of recorded tensors in the report") ==
        place(lines, "12.safetensors:logprobs vs oracle") + 1);
  CHECK(lines_with(lines, "  logp ") == 16);
  CHECK(has(lines, "0.safetensors:logprobs vs 19.safetensors:logprobs"));
  CHECK(has(lines, "# ... and 182 more pairs in the report"));
  CHECK(has(lines, "# ... and 17 more recorded tensors' worst tokens in the report"));
  CHECK(has(lines, "\n#\n# ... and 187 more pairs' metrics in the report"));
}

TEST_CASE("console_crowd: a few more rows than fit are shown all, in the report's order") {
  const Lines lines = console_table(crowd(5, true), "out");  // 10 pairs
  INFO(text(lines));
  CHECK_FALSE(has(lines, "more pairs in the report"));
  CHECK_FALSE(has(lines, "more comparisons"));
  CHECK(place(lines, "0.safetensors:logprobs vs oracle") < place(lines, "4.safetensors:logprobs vs oracle"));
  CHECK(shown_rows(12) == 12);
  CHECK(shown_rows(13) == 8);
}

TEST_CASE("console_crowd: the verdict names the worst and counts the others") {
  CHECK(verdict_line(crowd(10, true), "out") ==
        "PASS: 9.safetensors:logprobs max_abs 9 (not gated) and 9 more recorded tensors; reports in out");
  const std::string alone = verdict_line(crowd(10, false), "drift-reports/0123456789abcdef");
  INFO(alone);
  CHECK(alone.rfind(
            "PASS: 0.safetensors:logprobs vs 9.safetensors:logprobs max_abs 0.562 (not gated) and 44 more "
            "pairs; pairs only: no logits, so no oracle; reports in",
            0) == 0);
  CHECK(verdict_line(crowd(1, true), "out") ==
        "PASS: 0.safetensors:logprobs max_abs 0 (not gated); reports in out");
}

TEST_CASE("console_crowd: a failed gate, a permutation and left-out rows come before a larger drift") {
  AggregateReport report = crowd(10, true);
  const auto first = [&] { return verdict_line(report, "out"); };
  (*report.recorded)[4].vs[0].second.drift.nonfinite = 2;
  CHECK(first().rfind("PASS: 4.safetensors:logprobs max_abs 4, 2 not finite (not gated) and 9 more", 0) == 0);
  (*report.recorded)[5].vs[0].second = compared(0, 0);
  CHECK(first().rfind("PASS: 5.safetensors:logprobs compared in no row (not gated) and 9 more", 0) == 0);
  report.gates->push_back({.name = "recorded[2].vs.oracle.max_abs <= 1",
                           .limit = 1,
                           .value = 2,
                           .passed = false,
                           .from = "option"});
  CHECK(first().find(", 2.safetensors:logprobs max_abs 2 (gated) and 9 more recorded tensors") !=
        std::string::npos);
  CHECK(worst_recorded(report).front().recorded == 2);

  AggregateReport pairs = crowd(10, false);
  pairs.pairs->back().permuted = true;
  CHECK(verdict_line(pairs, "out")
            .find("8.safetensors:logprobs vs 9.safetensors:logprobs max_abs 0.0625, the same "
                  "values in another order (not gated) and 44 more pairs") != std::string::npos);
  CHECK(has(console_table(pairs, "out"), "PERMUTED"));
}

TEST_CASE("console_crowd: with an oracle the verdict speaks of pairs that are gated or permuted only") {
  AggregateReport report = crowd(10, true);
  CHECK(verdict_line(report, "out").find(" vs ") == std::string::npos);
  (*report.pairs)[0].permuted = (*report.pairs)[1].permuted = true;
  CHECK(verdict_line(report, "out").find("another order (not gated) and 1 more pair;") != std::string::npos);
}

TEST_CASE("console_crowd: noise is a table with one line that says what it is") {
  const Lines lines = console_table(crowd(3, true), "out");
  INFO(text(lines));
  const std::size_t heading = place(lines, "# recorded ");
  REQUIRE(heading + 3 < lines.size());
  CHECK(lines[heading - 1].rfind(
            "# noise: |d| / sigma, which is what rounding the logits to BF16 can do: far above 1", 0) == 0);
  CHECK(lines[heading] == "# recorded              median  p99  over 6  sigma");
  CHECK(lines[heading + 1] == "2.safetensors:logprobs     0.5    2    25 %   0.01");
  AggregateReport small = crowd(1, true);
  small.recorded->front().vs.front().second.noise->sigma_median = 1e-8;
  CHECK(has(console_table(small, "out"), "1e-08  less than the order of fp32 sums does\n"));
}

TEST_CASE("console_crowd: the tables of strata that were asked for, of three comparisons") {
  const Lines lines = console_table(crowd(10, true), "out", {}, Lines{"position"});
  INFO(text(lines));
  CHECK(lines_with(lines, " by position") == 3);
  CHECK(lines_with(lines, " by logp") == 0);
  CHECK(has(lines, "# ... and 52 more comparisons' strata in the report (--recorded or --pair"));
  CHECK(has(console_table(crowd(2, false), "out", {}, Lines{"logp"}), "vs 1.safetensors:logprobs by logp"));
}

TEST_CASE("console_crowd: the columns of a pair are training and rollout, or what they are") {
  AggregateReport report = crowd(2, false);
  CHECK(has(console_table(report, "out"), "training  rollout  difference"));
  report.pairs->front().b = "oracle";
  CHECK(has(console_table(report, "out"), "training  oracle  difference"));
}

TEST_CASE("short names: folders are left out where what remains is unique") {
  AggregateReport report;
  report.candidates.emplace();
  report.candidates->emplace_back().formula = "f:x";
  report.recorded.emplace();
  const auto add = [&](const std::string& file, const std::string& tensor) {
    report.recorded->push_back({.name = file.empty() ? tensor : file + ":" + tensor,
                                .dtype = "F32",
                                .digest = "",
                                .file = file,
                                .vs = {}});
  };
  add("", "a/b:c");
  add("train/one", "x");
  add("rollout/one", "x");
  add("rollout/one", "y");
  add("d/f", "x");
  add("e/old", "x\n");
  add("g/new", "x");
  add("", "new:x");
  const ShortNames shown(report);
  CHECK(shown("a/b:c") == "a/b:c");              // the dump's own
  CHECK(shown("train/one:x") == "train/one:x");  // two of that name
  CHECK(shown("rollout/one:x") == "rollout/one:x");
  CHECK(shown("rollout/one:y") == "one:y");
  CHECK(shown("d/f:x") == "d/f:x");  // a formula's
  CHECK(shown("e/old:x\n") == "old:x\\x0a");
  CHECK(shown("g/new:x") == "g/new:x");  // a tensor's
  CHECK(shown("oracle") == "oracle");
}

}  // namespace drift
