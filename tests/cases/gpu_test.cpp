// Audits on a GPU through the binary: the same digests as on CPUs, at every topology and over every
// transport, and torch's own bits. Several ranks share the GPU. Without a GPU each case says SKIPPED and why.

#include <algorithm>
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

TEST_CASE("gpu: kept sets, temperatures a row and row statistics have the bits that CPUs give", "[gpu]") {
  if (skipped_without_gpu()) return;
  CaseFolder folder;
  std::vector<float> logits, temperature;
  std::vector<std::int64_t> targets;
  for (int r = 0; r < 12; ++r) {
    for (int v = 0; v < 500; ++v) logits.push_back(static_cast<float>((r * 131 + v * 71) % 97) * 0.11f);
    temperature.push_back(r < 6 ? 0.7f : 1.3f);
    const auto row = logits.end() - 500;
    targets.push_back(std::max_element(row, row + 480) - row);
  }
  TinyDump dump;
  dump.bf16("logits", {2, 6, 500}, logits).i64("targets", {2, 6}, targets).meta("real_vocab_size", "480");
  dump.f32("temperature", {2, 6}, temperature).f32("rollout_logprobs", {2, 6}, std::vector<float>(12, -3));
  for (const std::vector<std::string>& asked : {std::vector<std::string>{},
                                                {"--top-k", "20"},
                                                {"--top-p", "0.7"},
                                                {"--min-p", "0.1", "--top-k", "50"}}) {
    std::vector<std::string> on_cpu = asked, on_gpu = asked;
    on_cpu.insert(on_cpu.end(), {"--row-stats"});
    on_gpu.insert(on_gpu.end(), {"--row-stats", "--backend", "cuda"});
    const Audit cpu = folder.run(dump, 1, 1, on_cpu), gpu = folder.run(dump, 1, 1, on_gpu);
    INFO(cpu.ran.all() << gpu.ran.all());
    REQUIRE(gpu.ran.exit_code == 0);
    CHECK(gpu.digests() == cpu.digests());
    CHECK(gpu.aggregate.at("oracle").at("digests") == cpu.aggregate.at("oracle").at("digests"));
    CHECK(gpu.aggregate.at("oracle").at("row_stats") == cpu.aggregate.at("oracle").at("row_stats"));
    CHECK(gpu.aggregate.at("recorded") == cpu.aggregate.at("recorded"));
  }
}

TEST_CASE("gpu: explain says what it says on CPUs", "[gpu]") {
  if (skipped_without_gpu()) return;
  const char* data = std::getenv("DRIFT_TEST_DATA");
  if (data == nullptr) {
    WARN("SKIPPED: DRIFT_TEST_DATA names no folder with the full dumps");
    return;
  }
  const TemporaryFolder folder;
  const std::string base = std::string(data) + "/rollout-t0.7";
  for (const char* tensor :
       {"logprobs_bf16_temperature", "logprobs_padded_not_masked", "logprobs_bf16_log_softmax"}) {
    const auto causes = [&](const std::string& backend) {
      const std::string out = folder.path(backend + tensor);
      const Ran ran = drift_audit({"explain", base + ".safetensors", "--backend", backend, "--out", out,
                                   "--recorded", base + ".expected.safetensors:" + tensor});
      INFO(ran.all());
      REQUIRE(ran.exit_code == 0);
      const nlohmann::json report = nlohmann::json::parse(file_text(out + "/explain.json"));
      return report.at("findings").at(0).at("best").at(0).at("causes");
    };
    CHECK(causes("cuda") == causes("cpu"));
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
