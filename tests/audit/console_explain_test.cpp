#include "audit/console_explain.hpp"

#include <algorithm>

#include "support/catch.hpp"

namespace drift {
namespace {

using Lines = std::vector<std::string>;

ExplainReport::Hypothesis fits(std::vector<std::string> causes, std::int64_t bits, double mean_abs) {
  ExplainReport::Hypothesis out{
      .causes = {}, .bits = bits, .within = bits, .residual = {mean_abs, mean_abs}, .formula = {}};
  for (const std::string& id : causes) out.causes.push_back({id, "", ""});
  return out;
}

ExplainReport explained() {
  ExplainReport report;
  report.status = "done";
  report.exit_code = 0;
  report.reproduce = "drift-audit explain d";
  ExplainReport::Finding finding;
  finding.name = "some/folder/x.safetensors:logprobs";
  finding.sentence =
      "The temperature was ignored: explains 16 of 16 tokens that drift, to within 3.77e-07; pass the "
      "temperature that the logits were divided by, and compare again.";
  finding.rows = 16;
  finding.best = {fits({"temperature_ignored"}, 16, 1e-7)};
  finding.others = {fits({"temperature_ignored", "padding_in_lse"}, 16, 0.95e-7),
                    fits({"temperature_ignored", "output_bf16"}, 3, 1e-3),
                    fits({"shift", "output_bf16"}, 4, 1e-3), fits({"shift"}, 2, 2e-3), fits({}, 1, 0.5)};
  finding.excluded = {"a", "b"};
  finding.untestable = {"c: why"};
  report.findings = std::vector{finding};
  return report;
}

AggregateReport audited() {
  AggregateReport run;
  run.input.emplace();
  run.input->logits = TensorReport{.name = "logits", .dtype = "BF16", .digest = "", .shape = {16, 8}};
  Compared compared;
  compared.noise = Noise{16, 0.01, 0.5, 2, 3, 0.25};
  run.recorded = {{.name = "some/folder/x.safetensors:logprobs",
                   .dtype = "F32",
                   .digest = "",
                   .file = "some/folder/x.safetensors",
                   .vs = {{"oracle", compared}}}};
  return run;
}

std::string text(const Lines& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

std::size_t at(const std::string& all, const std::string& part) {
  INFO(all);
  REQUIRE(all.find(part) != std::string::npos);
  return all.find(part);
}

}  // namespace

TEST_CASE("console_explain: the sentence, what it rests on, the noise, in this order and in lines that fit") {
  const Lines lines = console_explanation(audited(), explained(), "out", {}, false);
  const std::string all = text(lines);
  CHECK(at(all, "\nx.safetensors:logprobs: The temperature") < at(all, "# hypothesis"));
  CHECK(at(all, "# hypothesis") < at(all, "# noise: "));
  CHECK(at(all, "# noise: ") < at(all, "DONE: 1 recorded tensor explained"));
  CHECK(all.find("within fp32  of  from fp64: mean    max\n") != std::string::npos);
  CHECK(all.find("# 1 of 3 causes cannot be told apart") != std::string::npos);
  for (const std::string& line : lines) CHECK(line.size() <= 160);
}

TEST_CASE("console_explain: a pair that fits no better than one of its causes is not shown") {
  const std::string all = text(console_explanation(audited(), explained(), "out", {}, false));
  INFO(all);
  CHECK(all.find("temperature_ignored + ") == std::string::npos);
  CHECK(all.find("shift + output_bf16 ") != std::string::npos);
  CHECK(all.find("as audited ") != std::string::npos);
  ExplainReport claimed = explained();
  std::swap(claimed.findings->front().best.front(), claimed.findings->front().others.front());
  CHECK(text(console_explanation(audited(), claimed, "out", {}, false))
            .find("temperature_ignored + padding_in_lse ") !=
        std::string::npos);  // what the sentence speaks of always is
}

TEST_CASE("console_explain: quiet is one line a tensor") {
  const Lines lines = console_explanation(audited(), explained(), "out", {}, true);
  REQUIRE(lines.size() == 1);
  CHECK(lines.front() == "x.safetensors:logprobs: " + explained().findings->front().sentence);
}

}  // namespace drift
