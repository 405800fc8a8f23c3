// scripts/sweep.sh on a real plan.

#include <fstream>

#include "case_run.hpp"

namespace drift {
namespace {

using namespace test;

const std::string sweep = std::string(DRIFT_SOURCE_DIR) + "/scripts/sweep.sh";

/// sweep.sh may start more ranks than there are cores, and may be root: the plan's own flags have to see to
/// that.
const std::vector<std::string> bare_environment{"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
                                                "OMPI_MCA_rmaps_base_oversubscribe"};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("sweep: a plan's lines run where they were printed, and fixed-tree gives the same bits",
          "[sweep]") {
  if (skipped_without_mpirun()) return;
  TemporaryFolder folder;
  const How there{.environment = bare_environment, .directory = folder.path(), .timeout_seconds = 300};
  REQUIRE(drift_audit({"generate", "d.safetensors", "--rows", "6", "--vocab", "100", "--padded-vocab", "112"},
                      there)
              .exit_code == 0);
  const Ran plan = drift_audit({"plan", "d.safetensors", "--tp", "1,2,4", "--cp", "1,2", "--backend", "cpu",
                                "--formula", "fixed-tree,megatron-unfused", "--quiet"},
                               there);
  INFO(plan.all());
  REQUIRE(plan.exit_code == 0);
  std::ofstream(folder.path("plan.txt")) << "# a comment\n\n" << plan.out;
  const Ran ran = run_command({"sh", sweep, "plan.txt"}, there);
  INFO(ran.all());
  CHECK(ran.exit_code == 0);
  CHECK(has(ran.out, "fixed-tree: all 6 topologies gave the same bits"));
  CHECK(has(ran.out, "megatron-unfused: all 6 topologies gave "));
  CHECK(has(ran.out, "tp4-cp2"));
  CHECK(has(ran.out, "worst exit status: 0"));
}

TEST_CASE("sweep: keeps going after a failure, and ends with the worst status", "[sweep]") {
  TemporaryFolder folder;
  const How there{.environment = bare_environment, .directory = folder.path()};
  REQUIRE(drift_audit({"generate", "d.safetensors", "--rows", "3", "--vocab", "20", "--padded-vocab", "20"},
                      there)
              .exit_code == 0);
  const std::string run = std::string(DRIFT_BINARY) + " run d.safetensors --backend cpu -q";
  std::ofstream(folder.path("plan.txt")) << run << " --worst 1\n"
                                         << run << " --gate 'input.rows == 4'\n"
                                         << run << " --tp 2\n"
                                         << DRIFT_BINARY << " run absent.safetensors\n"
                                         << run << " --worst 2";  // no newline at the end
  const Ran ran = run_command({"sh", sweep, "plan.txt"}, there);
  INFO(ran.all());
  CHECK(ran.exit_code == 2);
  CHECK(has(ran.out, "fixed-tree: 3 of 5 topologies gave the same bits"));
  CHECK(has(ran.out, "2 of 5 runs gave no numbers"));
  CHECK_FALSE(has(ran.out, "tp?"));  // a run that failed before it had a topology has one in its options
  CHECK(has(ran.out, "tp1-cp1     failed        4"));
}

TEST_CASE("sweep: says when bits differ", "[sweep]") {
  TemporaryFolder folder;
  const How there{.environment = bare_environment, .directory = folder.path()};
  std::string plan;
  for (const char* seed : {"1", "2"}) {
    const std::string dump = std::string("d") + seed;
    REQUIRE(
        drift_audit(
            {"generate", dump, "--rows", "3", "--vocab", "20", "--padded-vocab", "20", "--seed", seed}, there)
            .exit_code == 0);
    plan += std::string(DRIFT_BINARY) + " run " + dump + " --backend cpu\n";
  }
  std::ofstream(folder.path("plan.txt")) << plan;
  const Ran ran = run_command({"sh", "-c", "sh '" + sweep + "' -- < plan.txt"}, there);
  INFO(ran.all());
  CHECK(ran.exit_code == 0);
  CHECK(has(ran.out, "fixed-tree: all 2 topologies gave 2 different results"));
}

TEST_CASE("sweep: an empty or missing plan is an error", "[sweep]") {
  CHECK(run_command({"sh", sweep}).exit_code == 2);
  CHECK(run_command({"sh", sweep, "/no/such/plan"}).exit_code == 4);
  CHECK(run_command({"sh", sweep, "/dev/null"}).exit_code == 2);
}

}  // namespace drift
