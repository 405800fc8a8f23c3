// A kernel of the user's own through the binary: one more candidate, compared, replicated-checked and gated.

#include "case_run.hpp"

namespace drift {
namespace {

using namespace test;

std::string built(const std::string& name) { return std::string(DRIFT_PLUGIN_DIR) + "/" + name + ".so"; }

/// Five rows of F32 logits at temperature 1.
TinyDump rows() {
  std::vector<float> logits;
  for (int i = 0; i < 5 * 16; ++i) logits.push_back(static_cast<float>((i * 37) % 23) * .25f - 2);
  TinyDump dump;
  dump.f32("logits", {5, 16}, logits).i64("targets", {5}, {0, 3, 8, 11, 15});
  return dump;
}

}  // namespace

TEST_CASE("plugin: a right kernel is a candidate like any other at tp 1, 2 and 4", "[plugin]") {
  CaseFolder folder;
  for (const int tp : {1, 2, 4}) {
    if (tp > 1 && skipped_without_mpirun()) return;
    const Audit audit = folder.run(rows(), tp, 1, {"--plugin", built("cpu_log_prob")});
    INFO(audit.ran.all());
    REQUIRE(audit.ran.exit_code == 0);
    CHECK(audit.aggregate.at("scope") == "user");
    const auto& candidates = audit.aggregate.at("candidates");
    REQUIRE(candidates.size() == 2);
    const std::string id = candidates.at(1).at("formula");
    CHECK(candidates.at(1).at("replicated") == true);
    CHECK(candidates.at(1).at("drift").at("logp").at("count") == 5);
    CHECK(audit.aggregate.at("gates").size() == 4);
    CHECK(audit.column(id + "_logp").size() == 5);
  }
}

TEST_CASE("plugin: wrong numbers are drift, errors and crashes are exit 5 with its name", "[plugin]") {
  CaseFolder folder;
  const auto run = [&](const std::string& name, int tp = 1) {
    return folder.run(rows(), tp, 1, {"--plugin", built("faulty/" + name)});
  };
  for (const char* name : {"wrong_row", "not_a_number"}) {
    const Audit audit = run(name);
    INFO(audit.ran.all());
    CHECK(audit.ran.exit_code == 1);
    CHECK(audit.aggregate.at("status") == "drift");
  }
  for (const char* name : {"returns_error", "segfaults", "aborts", "divides_by_zero"}) {
    const Audit audit = run(name);
    INFO(name << "\n" << audit.ran.all());
    CHECK(audit.ran.exit_code == 5);
    REQUIRE(audit.has_report());
    CHECK(audit.aggregate.at("error").at("phase") == "candidates");
    CHECK(audit.aggregate.at("error").at("message").get<std::string>().find("plug-in") != std::string::npos);
  }
  if (skipped_without_mpirun()) return;
  const Audit replicas = run("one_rank_differs", 2);
  INFO(replicas.ran.all());
  CHECK(replicas.ran.exit_code == 6);
}

TEST_CASE("plugin: what cannot be loaded is refused before anything is computed", "[plugin]") {
  CaseFolder folder;
  CHECK(folder.run(rows(), 1, 1, {"--plugin", folder.path("gone.so")}).ran.exit_code == 4);
  CHECK(folder.run(rows(), 1, 1, {"--plugin", built("faulty/wrong_abi")}).ran.exit_code == 2);
  const std::string good = built("cpu_log_prob");
  CHECK(folder.run(rows(), 1, 1, {"--plugin", good, "--plugin", good}).ran.exit_code == 2);
}

}  // namespace drift
