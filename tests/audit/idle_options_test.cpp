#include <algorithm>

#include "audit/case.hpp"
#include "audit/options.hpp"
#include "support/catch.hpp"
#include "support/run_command.hpp"
#include "support/tiny_dump.hpp"

namespace drift {
namespace {

using test::TinyDump;

TinyDump two_tensors() {
  TinyDump dump;
  dump.f32("log_probs", {2, 3}, std::vector<float>(6, -1))
      .f32("rollout_logprobs", {2, 3}, std::vector<float>(6, -2));
  return dump;
}

TinyDump with_logits(TinyDump dump) {
  dump.bf16("logits", {2, 3, 8}, std::vector<float>(48, 0.5f)).i64("targets", {2, 3}, {0, 1, 2, 3, 4, 5});
  return dump;
}

using Typed = std::vector<std::pair<std::string, std::vector<std::string>>>;

std::vector<std::string> warnings(TinyDump dump, const Typed& typed) {
  const test::TemporaryFolder folder;
  Config config;
  config.dump = dump.write(folder.path("d.safetensors"));
  for (const auto& [name, words] : typed) set_option(config, *find_option(name), words);
  return resolve(config, DumpFile::open(config.dump), "cpu").warnings;
}

bool has(const std::vector<std::string>& lines, const std::string& start) {
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  INFO(all);
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.rfind(start, 0) == 0; });
}

}  // namespace

TEST_CASE("idle options: strata by rank where one rank has everything") {
  const Typed owner{{"strata", {"logp,owner_tp_rank"}}}, chunk{{"strata", {"cp_chunk"}}};
  CHECK(has(warnings(with_logits(two_tensors()), owner),
            "--strata owner_tp_rank has no effect here: with --tp 1"));
  CHECK(has(warnings(two_tensors(), owner), "--strata owner_tp_rank has no effect here: without logits"));
  CHECK(
      has(warnings(with_logits(two_tensors()), chunk), "--strata cp_chunk has no effect here: with --cp 1"));
  CHECK(has(warnings(two_tensors(), chunk), "--strata cp_chunk has no effect here: with --cp 1"));
  CHECK(warnings(with_logits(two_tensors()), {{"strata", {"owner_tp_rank"}}, {"tp", {"2"}}}).empty());
  CHECK(warnings(with_logits(two_tensors()), {{"strata", {"cp_chunk"}}, {"cp", {"2"}}}).empty());
  CHECK(warnings(two_tensors(), {{"strata", {"all"}}}).empty());
  CHECK(warnings(two_tensors(), {{"strata", {"position"}}}).empty());
}

TEST_CASE("idle options: strata and metric names of nothing") {
  const auto alone = warnings(with_logits({}), {{"strata", {"logp,cp_chunk"}}, {"metric-names", {"verl"}}});
  CHECK(alone.size() == 2);
  CHECK(has(alone, "--strata has no effect here: nothing is recorded"));
  CHECK(has(alone, "--metric-names has no effect here: there is no pair"));
}

TEST_CASE("idle options: metric names where every pair is of log-sum-exps") {
  const Typed lse{{"recorded", {"log_probs=lse,rollout_logprobs=lse"}}, {"metric-names", {"verl"}}};
  CHECK(
      has(warnings(two_tensors(), lse), "--metric-names has no effect here: every pair is of log-sum-exps"));
  CHECK(
      has(warnings(with_logits(two_tensors()), lse), "--metric-names has no effect here: every pair is of"));
  CHECK(warnings(two_tensors(), {{"metric-names", {"verl"}}}).empty());
}

}  // namespace drift
