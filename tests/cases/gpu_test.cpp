// Audits on a GPU through the binary: the same digests as on CPUs, at every topology and over every
// transport, and torch's own bits. Several ranks share the GPU. Without a GPU each case says SKIPPED and why.

#include <bit>
#include <cstdlib>

#include "backend/devices.hpp"
#include "case_run.hpp"

namespace drift {
namespace {

using namespace test;

bool skipped_without_gpu() {
  const bool missing = visible_gpus().empty();
  if (missing) WARN("SKIPPED: no GPU to audit on: " << why_no_gpu());
  return missing;
}

/// The example, and the full dumps where they are.
std::vector<std::string> dumps() {
  std::vector<std::string> out{std::string(DRIFT_SOURCE_DIR) + "/examples/rollout-t0.7-cut.safetensors"};
  if (const char* folder = std::getenv("DRIFT_TEST_DATA"))
    for (const char* name : {"rollout-t1.0", "rollout-t0.7", "rollout-fp32"})
      out.push_back(std::string(folder) + "/" + name + ".safetensors");
  else
    WARN("SKIPPED: DRIFT_TEST_DATA names no folder with the full dumps");
  return out;
}

void check_same_digests(CaseFolder& folder, const std::string& dump, const Audit& cpu, int tp, int cp,
                        const std::string& transport) {
  const Audit gpu = folder.run(dump, tp, cp, {"--backend", "cuda", "--transport", transport});
  INFO(dump << " tp " << tp << " cp " << cp << " over " << transport << "\n" << gpu.ran.all());
  REQUIRE(gpu.ran.exit_code == 0);
  CHECK(gpu.aggregate.at("candidates").at(0).at("backend").at("actual") == "cuda");
  CHECK(gpu.aggregate.at("candidates").at(0).at("transport").at("actual") ==
        (transport == "auto" ? "solo" : transport));
  CHECK(gpu.aggregate.at("candidates").at(0).at("replicated") == true);
  CHECK(gpu.digests() == cpu.digests());
  CHECK(gpu.aggregate.at("oracle").at("digests") == cpu.aggregate.at("oracle").at("digests"));
}

}  // namespace

TEST_CASE("gpu: six topologies over host staging give the digests that CPUs give", "[gpu]") {
  if (skipped_without_gpu() || skipped_without_mpirun()) return;
  CaseFolder folder;
  for (const std::string& dump : dumps()) {
    const Audit cpu = folder.run(dump, 1);
    REQUIRE(cpu.ran.exit_code == 0);
    for (const int tp : {1, 2, 4})
      for (const int cp : {1, 2}) check_same_digests(folder, dump, cpu, tp, cp, tp == 1 ? "auto" : "mpi");
  }
}

TEST_CASE("gpu: NCCL gives the same digests at TP 2 and 4", "[gpu]") {
  if (skipped_without_gpu() || skipped_without_mpirun()) return;
  const bool may_share = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE") != nullptr;
  if (!nccl_built() || (visible_gpus().size() < 4 && !may_share)) {
    WARN(
        "SKIPPED: NCCL and four GPUs are needed, or NCCL >= 2.30 with NCCL_MULTI_RANK_GPU_ENABLE=1 and "
        "NCCL_NVLS_ENABLE=0; seen NCCL "
        << nccl_version() << " and " << visible_gpus().size() << " GPUs");
    return;
  }
  CaseFolder folder;
  for (const std::string& dump : dumps()) {
    const Audit cpu = folder.run(dump, 1);
    for (const int tp : {2, 4}) check_same_digests(folder, dump, cpu, tp, 1, "nccl");
  }
}

TEST_CASE("gpu: every formula stays within its limits over every transport", "[gpu]") {
  if (skipped_without_gpu() || skipped_without_mpirun()) return;
  CaseFolder folder;
  const std::string dump = std::string(DRIFT_SOURCE_DIR) + "/examples/rollout-t0.7-cut.safetensors";
  for (const int tp : {1, 2, 3}) {
    const Audit audit =
        folder.run(dump, tp, 1, {"--backend", "cuda", "--transport", "mpi", "--formula", "all"});
    INFO(audit.ran.all());
    CHECK(audit.ran.exit_code == 0);
    CHECK(audit.aggregate.at("candidates").size() == 3);
  }
}

TEST_CASE("gpu: torch-log-softmax-f32 has torch's bits on the recorded dumps", "[gpu]") {
  if (skipped_without_gpu()) return;
  const char* data = std::getenv("DRIFT_TEST_DATA");
  if (data == nullptr) {
    WARN("SKIPPED: DRIFT_TEST_DATA names no folder with the full dumps");
    return;
  }
  CaseFolder folder;
  for (const std::string name : {"rollout-t1.0", "rollout-t0.7", "rollout-fp32"}) {
    const std::string base = std::string(data) + "/" + name;
    const Audit audit = folder.run(
        base + ".safetensors", 1, 1,
        {"--backend", "cuda", "--formula", "torch-log-softmax-f32", "--temperature-order", "reciprocal"});
    INFO(audit.ran.all());
    REQUIRE(audit.has_report());
    const std::vector<float> ours = audit.column("torch-log-softmax-f32_logp");
    const DumpFile expected = DumpFile::open(base + ".expected.safetensors");
    const std::vector<float> torch = read_floats(expected, *expected.find("logprobs_sampler"));
    REQUIRE(ours.size() == torch.size());
    std::size_t compared = 0;
    for (std::size_t r = 0; r < ours.size(); ++r) {
      if (std::isnan(ours[r])) continue;  // an inactive row
      ++compared;
      INFO(name << " row " << r);
      CHECK(std::bit_cast<std::uint32_t>(ours[r]) == std::bit_cast<std::uint32_t>(torch[r]));
    }
    CHECK(compared == (name == "rollout-fp32" ? 9 : 36));
  }
}

}  // namespace drift
