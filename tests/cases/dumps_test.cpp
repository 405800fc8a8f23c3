// The full dumps of DRIFT_TEST_DATA: every topology passes with one digest, and what a rollout recorded is
// judged.

#include <cstdlib>

#include "case_run.hpp"

namespace drift {
namespace {

using namespace test;

std::string data_folder() {
  const char* folder = std::getenv("DRIFT_TEST_DATA");
  if (folder == nullptr) WARN("SKIPPED: DRIFT_TEST_DATA names no folder with the full dumps");
  return folder == nullptr ? "" : folder;
}

}  // namespace

TEST_CASE("dumps: TP 1 2 4 x CP 1 2 pass with one digest", "[dumps]") {
  const std::string data = data_folder();
  if (data.empty() || skipped_without_mpirun()) return;
  CaseFolder folder;
  for (const char* name : {"rollout-t1.0", "rollout-t0.7", "rollout-fp32"}) {
    nlohmann::json digests;
    for (const int tp : {1, 2, 4})
      for (const int cp : {1, 2}) {
        const Audit audit = folder.run(data + "/" + name + ".safetensors", tp, cp);
        INFO(audit.ran.all());
        REQUIRE(audit.ran.exit_code == 0);
        CHECK(audit.aggregate.at("status") == "pass");
        CHECK(audit.aggregate.at("scope") == "user");
        if (digests.is_null()) digests = audit.digests();
        CHECK(audit.digests() == digests);
      }
  }
}

TEST_CASE(
    "dumps: the rollout's log-probs agree with the oracle, and show what a bf16 temperature would have done",
    "[dumps]") {
  const std::string data = data_folder();
  if (data.empty()) return;
  CaseFolder folder;
  const Audit right = folder.run(data + "/rollout-t0.7.safetensors", 1);
  INFO(right.ran.all());
  REQUIRE(right.ran.exit_code == 0);
  const auto& recorded = right.aggregate.at("recorded").at(0);
  CHECK(recorded.at("name") == "rollout_logprobs");
  CHECK(recorded.at("vs").at("oracle").at("drift").at("count") == 36);
  CHECK(recorded.at("vs").at("oracle").at("drift").at("max_abs").get<double>() <= 1e-5);

  const Audit native =
      folder.run(data + "/rollout-t0.7.safetensors", 1, 1, {"--temperature-order", "native"});
  INFO(native.ran.all());
  CHECK(native.ran.exit_code == 1);
  const auto& drift = native.aggregate.at("recorded").at(0).at("vs").at("fixed-tree").at("drift");
  CHECK(drift.at("count") == 36);
  CHECK(drift.at("mismatch_count") == 36);
  CHECK(std::abs(drift.at("mean_abs").get<double>() - 1e-2) < 5e-3);
}

}  // namespace drift
