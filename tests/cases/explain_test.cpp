// `explain` through the binary: real log-probs whose cause is known, the small cases, and what it refuses.

#include <cstdlib>
#include <set>

#include "case_run.hpp"

namespace drift {
namespace {

using namespace test;

struct Explained {
  Ran ran;
  nlohmann::json report;
  nlohmann::json finding(std::size_t i = 0) const {
    INFO(ran.all());
    REQUIRE(report.is_object());
    return report.at("findings").at(i);
  }
  /// Ids of the best hypothesis, joined by '+'.
  std::string cause(std::size_t i = 0) const {
    std::string out;
    const nlohmann::json found = finding(i);
    for (const auto& cause : found.at("best").at(0).at("causes"))
      out += (out.empty() ? "" : "+") + cause.at("id").get<std::string>();
    return out;
  }
};

Explained explain(const std::string& dump, const std::string& out, std::vector<std::string> options = {},
                  int ranks = 1) {
  std::vector<std::string> words{"explain", dump, "--out", out, "--backend", "cpu"};
  words.insert(words.end(), options.begin(), options.end());
  Explained result{.ran = ranks == 1 ? drift_audit(words) : drift_audit_on(ranks, words), .report = nullptr};
  const std::string path = out + "/explain.json";
  if (std::filesystem::exists(path)) result.report = nlohmann::json::parse(file_text(path));
  CHECK(invalid_reports(out) == "");
  return result;
}

/// Rows of H08: the target's logit is 4, the others 0.
TinyDump h08(const std::vector<float>& recorded) {
  const std::vector<std::int64_t> targets{0, 1, 2, 3, 0, 1};
  std::vector<float> logits(24);
  for (std::size_t t = 0; t < 6; ++t) logits[t * 4 + static_cast<std::size_t>(targets[t])] = 4;
  TinyDump dump;
  dump.f32("logits", {6, 4}, logits).i64("targets", {6}, targets).f32("rollout_logprobs", {6}, recorded);
  return dump;
}

/// Rows of H10: lp(t) = -ln(1 + e^t).
TinyDump h10(const std::vector<int>& order) {
  std::vector<float> logits, recorded;
  for (int t = 0; t < 8; ++t) logits.insert(logits.end(), {0, static_cast<float>(t)});
  for (const int t : order)
    recorded.push_back(static_cast<float>(-std::log1p(std::exp(static_cast<double>(t)))));
  TinyDump dump;
  dump.f32("logits", {1, 8, 2}, logits).i64("targets", {1, 8}, std::vector<std::int64_t>(8, 0));
  dump.f32("rollout_logprobs", {1, 8}, recorded);
  return dump;
}

}  // namespace

TEST_CASE("explain: the recorded bits of real kernels are named right, and nothing else is", "[explain]") {
  const char* data = std::getenv("DRIFT_TEST_DATA");
  if (data == nullptr) {
    WARN("SKIPPED: DRIFT_TEST_DATA does not name the folder of the full dumps");
    return;
  }
  const TemporaryFolder folder;
  struct Right {
    const char *dump, *tensor, *finding, *cause;
  };
  for (const Right& right : {Right{"t0.7", "logprobs_bf16_temperature", "cause", "temperature_native"},
                             {"t0.7", "logprobs_padded_not_masked", "cause", "padding_in_lse"},
                             {"t0.7", "logprobs_bf16_log_softmax", "cause", "temperature_native+output_bf16"},
                             {"t0.7", "logprobs_sampler", "formula_order", ""},
                             {"t0.7", "logprobs_v2_fp32", "formula_order", ""},
                             {"t1.0", "logprobs_bf16_log_softmax", "cause", "output_bf16"},
                             {"t1.0", "logprobs_padded_not_masked", "cause", "padding_in_lse"},
                             {"t1.0", "logprobs_sampler", "formula_order", ""},
                             {"t1.0", "logprobs_v2_fp32", "formula_order", ""},
                             {"fp32", "logprobs_padded_not_masked", "cause", "padding_in_lse"},
                             {"fp32", "logprobs_sampler", "formula_order", ""}}) {
    INFO(right.dump << " " << right.tensor);
    const std::string base = std::string(data) + "/rollout-" + right.dump;
    const Explained result =
        explain(base + ".safetensors", folder.path(std::string(right.dump) + right.tensor),
                {"--recorded", base + ".expected.safetensors:" + right.tensor});
    CHECK(result.ran.exit_code == 0);
    const std::string found = result.finding().at("finding");
    CHECK((found == right.finding || (found == "exact" && right.cause[0] == '\0')));
    CHECK(result.cause() == right.cause);
    const std::string name = right.tensor, formula = result.finding().at("best").at(0).at("formula");
    if (name == "logprobs_sampler") CHECK(formula == "torch-log-softmax-f32");
    if (name == "logprobs_v2_fp32") CHECK(formula == "x - fp32(LSE)");
    if (name == "logprobs_bf16_temperature") CHECK(result.finding().at("best").at(0).at("within") == 36);
  }
  for (const char* dump : {"t0.7", "t1.0", "fp32"}) {
    INFO(dump);
    const Explained result =
        explain(std::string(data) + "/rollout-" + dump + ".safetensors", folder.path(dump));
    const std::string finding = result.finding().at("finding");
    CHECK((finding == "noise" || finding == "formula_order"));
    CHECK(result.finding().at("sentence").get<std::string>().find("sigma") != std::string::npos);
  }
}

TEST_CASE("H08: targets off by one are named, in both directions where values cannot tell", "[explain]") {
  const TemporaryFolder folder;
  const Explained result = explain(
      h08(std::vector<float>(6, -4.053490449705934f)).write(folder.path("d.safetensors")), folder.path("o"));
  // Six equal values cannot tell a shift from other ways to read a wrong column: both directions must be
  // said, and neither alone.
  const nlohmann::json found = result.finding();
  std::set<std::string> said;
  for (const auto& hypothesis : found.at("best")) {
    REQUIRE(hypothesis.at("causes").size() == 1);
    said.insert(hypothesis.at("causes").at(0).at("id").get<std::string>());
  }
  INFO(found.at("sentence"));
  CHECK(found.at("finding") == "several");
  CHECK(said.contains("next_target"));
  CHECK(said.contains("previous_target"));
  CHECK(found.at("best").at(0).at("within") == 6);
  const Explained right =
      explain(h08(std::vector<float>(6, -0.05349044970593386f)).write(folder.path("r.safetensors")),
              folder.path("p"));
  CHECK(right.cause().empty());
}

TEST_CASE("H10: rows rebuilt in the wrong CP layout are named as one", "[explain]") {
  const TemporaryFolder folder;
  const Explained zigzag =
      explain(h10({0, 1, 4, 5, 6, 7, 2, 3}).write(folder.path("z.safetensors")), folder.path("z"));
  INFO(zigzag.finding().dump(1));
  CHECK(zigzag.cause() == "contiguous_as_zigzag_cp2");
  const Explained concatenated =
      explain(h10({0, 1, 6, 7, 2, 3, 4, 5}).write(folder.path("c.safetensors")), folder.path("c"));
  INFO(concatenated.finding().dump(1));
  CHECK(concatenated.cause() == "zigzag_concatenated_cp2");
}

TEST_CASE("explain: ranks share the rows out, and say the same", "[explain]") {
  if (skipped_without_mpirun()) return;
  const TemporaryFolder folder;
  const std::string dump = h10({0, 1, 4, 5, 6, 7, 2, 3}).write(folder.path("d.safetensors"));
  const Explained alone = explain(dump, folder.path("one")), four = explain(dump, folder.path("four"), {}, 4);
  const Explained grid = explain(dump, folder.path("grid"), {"--tp", "2", "--cp", "2"}, 4);
  for (const Explained* one : {&alone, &four, &grid}) {
    INFO(one->ran.all());
    CHECK(one->ran.exit_code == 0);
    CHECK(one->cause() == alone.cause());
  }
  CHECK(four.finding() == alone.finding());  // of another TP degree, formulas may have other bits
  CHECK(explain(dump, folder.path("wrong"), {"--tp", "3"}, 4).ran.exit_code == 2);
}

TEST_CASE("explain: what has no logits, or nothing recorded, is refused with a report", "[explain]") {
  const TemporaryFolder folder;
  TinyDump pairs;
  pairs.f32("log_probs", {2}, {-1, -2}).f32("rollout_logprobs", {2}, {-1, -2});
  const Explained none = explain(pairs.write(folder.path("p.safetensors")), folder.path("p"));
  CHECK(none.ran.exit_code == 3);
  CHECK(none.ran.out.find("no logits") != std::string::npos);
  const Explained bare = explain(one_row({0, 1}, 1).write(folder.path("b.safetensors")), folder.path("b"));
  CHECK(bare.ran.exit_code == 3);
  CHECK(bare.report.at("status") == "failed");
  CHECK(explain(folder.path("gone.safetensors"), folder.path("g")).ran.exit_code == 4);
}

TEST_CASE("explain: the same dump gives the same bytes, in a folder of its own", "[explain]") {
  const TemporaryFolder folder;
  const std::string dump = h10({0, 1, 4, 5, 6, 7, 2, 3}).write(folder.path("d.safetensors"));
  const How here{.directory = folder.path("")};
  const Ran first = drift_audit({"explain", dump}, here), second = drift_audit({"explain", dump}, here);
  INFO(first.all());
  CHECK(first.out == second.out);
  CHECK(drift_audit({"run", dump}, here).exit_code == 0);  // does not touch the explanation
}

}  // namespace drift
