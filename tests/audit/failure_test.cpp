// The whole audit with ranks as threads, one of them going wrong: every rank must come back, with the same
// exit status, and the report must say what happened and where.

#include <cmath>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>

#include "../dump/scratch.hpp"
#include "audit/audit.hpp"
#include "audit/faulty_backend.hpp"
#include "dump/dump_file.hpp"
#include "dump/dump_writer.hpp"
#include "dump/generate.hpp"
#include "support/catch.hpp"
#include "support/thread_world.hpp"

using namespace drift;
using nlohmann::json;

namespace {

constexpr int ranks = 4;

struct Ended {
  std::vector<Outcome> outcomes;  // by rank
  std::vector<std::string> said;
  json report;  // null if none was written
};

/// Makes rank r's backend.
using MakeBackend = std::function<std::unique_ptr<Backend>(int rank)>;

Machinery machinery_of(int rank, const MakeBackend& make, Ended& ended, std::mutex& mutex) {
  Machinery out;
  out.gpu_count = [] {
    return 1;
  };  // "cuda" is the test's own backend: the path that takes devices is run too
  out.why_no_gpu = [] { return std::string(); };
  out.make_cuda = [&make, rank](int) { return make(rank); };
  out.program = "drift-audit";
  out.argv = {"drift-audit", "run"};
  out.host = "host";
  out.now = [] { return std::string("2026-01-01T00:00:00Z"); };
  out.say = [&ended, &mutex](const std::string& line) {
    const std::lock_guard lock(mutex);
    ended.said.push_back(line);
  };
  out.alert = out.say;
  out.progress = out.warn = [](const std::string&) {};
  return out;
}

Ended run(const Config& config, const MakeBackend& make, double timeout = 20) {
  Ended ended;
  ended.outcomes.resize(ranks);
  std::mutex mutex;
  test::ThreadWorld(ranks, timeout).run([&](Control& world) {
    const Machinery machinery = machinery_of(world.rank(), make, ended, mutex);
    const Outcome outcome = audit(config, world, machinery);
    const std::lock_guard lock(mutex);
    ended.outcomes[static_cast<std::size_t>(world.rank())] = outcome;
  });
  std::ifstream in(config.out + "/aggregate.json");
  if (in) ended.report = json::parse(in);
  return ended;
}

Config config_of(const Scratch& scratch) {
  Config config;
  config.dump = scratch.path("dump.safetensors");
  config.tp = 2;
  config.cp = 2;
  config.out = scratch.path("reports");
  config.typed = {"tp", "cp", "out", "row-stats"};
  config.rows_per_chunk = 3;
  config.row_stats = true;  // one more kernel that can fail
  generate(config.dump, {.rows = 28, .vocab = 9500, .padded_vocab = 9600});
  return config;
}

std::unique_ptr<Backend> healthy(int) {
  return std::make_unique<test::FaultyBackend>([](const std::string&) {});
}

/// Throws at the `count`-th call of `kernel` on `rank`.
MakeBackend failing_at(int rank, const std::string& kernel, int count, std::function<void()> fail) {
  return [=](int me) -> std::unique_ptr<Backend> {
    if (me != rank) return healthy(me);
    auto left = std::make_shared<int>(count);
    return std::make_unique<test::FaultyBackend>([=](const std::string& called) {
      if (called == kernel && --*left == 0) fail();
    });
  };
}

void check_all(const Ended& ended, int exit_code) {
  for (const Outcome& outcome : ended.outcomes) {
    CHECK(outcome.exit_code == exit_code);
    CHECK_FALSE(outcome.peers_lost);
  }
}

}  // namespace

TEST_CASE("audit: healthy ranks pass, and only rank 0 speaks") {
  const Scratch scratch;
  const Ended ended = run(config_of(scratch), healthy);
  check_all(ended, 0);
  REQUIRE(ended.report.is_object());
  CHECK(ended.report["status"] == "pass");
  CHECK(ended.report["ranks"].size() == ranks);
  CHECK(ended.said.back().find("mpirun -np 4") != std::string::npos);
}

TEST_CASE("audit: a kernel that fails on any one rank, at any chunk, ends the run on all with its message") {
  for (int rank = 0; rank < ranks; ++rank)
    for (const char* kernel : {"tree_sum", "row_target", "tree_finish", "row_census", "row_moments", "make_resident"})
      for (const int count : {1, 2}) {
        const Scratch scratch;
        INFO("rank " << rank << ", call " << count << " of " << kernel);
        const Ended ended = run(config_of(scratch), failing_at(rank, kernel, count, [] {
                                  throw Error(Fault::device, "planted: the device fell over");
                                }));
        check_all(ended, 5);
        REQUIRE(ended.report.is_object());
        CHECK(ended.report["status"] == "failed");
        CHECK(ended.report["exit_code"] == 5);
        CHECK(ended.report["error"]["rank"] == rank);
        CHECK(ended.report["error"]["class"] == "device");
        CHECK(ended.report["error"]["message"] == "planted: the device fell over");
        CHECK_FALSE(ended.report.contains("candidates"));
      }
}

TEST_CASE("audit: memory that runs out on one rank during set-up is a decision of all") {
  for (const char* kernel : {"allocate", "allocate_host"}) {
    const Scratch scratch;
    const Ended ended = run(config_of(scratch), failing_at(3, kernel, 1, [] { throw std::bad_alloc(); }));
    check_all(ended, 5);
    CHECK(ended.report["error"]["rank"] == 3);
  }
}

TEST_CASE("audit: a device that cannot be taken on one rank is a decision of all") {
  const Scratch scratch;
  const Ended ended = run(config_of(scratch), [](int rank) -> std::unique_ptr<Backend> {
    if (rank == 2) throw Error(Fault::device, "planted: no such device");
    return healthy(rank);
  });
  check_all(ended, 5);
  CHECK(ended.report["error"]["phase"] == "device");
  CHECK(ended.report["error"]["rank"] == 2);
}

TEST_CASE("audit: of several failures the smallest code wins, then the smallest rank") {
  const Scratch scratch;
  const Ended ended = run(config_of(scratch), [](int rank) -> std::unique_ptr<Backend> {
    throw Error(rank == 1 || rank == 3 ? Fault::input : Fault::device, "planted on " + std::to_string(rank));
  });
  check_all(ended, 3);
  CHECK(ended.report["error"]["rank"] == 1);
}

TEST_CASE("audit: replicas that differ in one bit are exit 6, and everything else is reported") {
  const Scratch scratch;
  const Ended ended = run(config_of(scratch), [](int rank) -> std::unique_ptr<Backend> {
    if (rank != 3) return healthy(rank);
    return std::make_unique<test::FaultyBackend>(
        [](const std::string&) {},
        [](RowResult out, std::int64_t) { out.lse[0] = std::nextafter(out.lse[0], 1e9f); });
  });
  check_all(ended, 6);
  CHECK(ended.report["status"] == "failed");
  CHECK(ended.report["error"]["class"] == "comm");
  CHECK(ended.report["candidates"][0]["replicated"] == false);
  CHECK(ended.report["candidates"][0]["drift"]["lse"]["count"] == 28);
}

TEST_CASE("audit: a candidate that is wrong on all ranks alike is drift, exit 1, located") {
  const Scratch scratch;
  const Ended ended = run(config_of(scratch), [](int) -> std::unique_ptr<Backend> {
    return std::make_unique<test::FaultyBackend>(
        [](const std::string&) {}, [](RowResult out, std::int64_t rows) { out.logp[rows - 1] += 0.25f; });
  });
  check_all(ended, 1);
  CHECK(ended.report["status"] == "drift");
  CHECK_FALSE(ended.report.contains("error"));
  const auto& worst = ended.report["candidates"][0]["worst"]["logp"][0];
  CHECK(std::fabs(worst["abs"].get<double>() - 0.25) < 1e-5);
  // 14 rows a CP rank in chunks of 3: five rows of each are the last of their chunk.
  CHECK(ended.report["gates"][1]["rows_over"] == 10);
  CHECK(ended.report["gates"][0]["passed"] == true);
}

TEST_CASE("audit: a rank that goes silent is exit 7 on the others, within the deadline") {
  const Scratch scratch;
  Config config = config_of(scratch);
  const auto start = std::chrono::steady_clock::now();
  const Ended ended =
      run(config, failing_at(1, "tree_sum", 1, [] { std::this_thread::sleep_for(std::chrono::seconds(8)); }),
          1.5);
  CHECK(ended.outcomes[0].exit_code == 7);
  CHECK(ended.outcomes[2].exit_code == 7);
  CHECK(ended.report["error"]["class"] == "timeout");
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
}

TEST_CASE("audit: a silent rank 0 leaves the others' report in place of an older verdict, said aloud") {
  const Scratch scratch;
  Config config = config_of(scratch);
  REQUIRE(run(config, healthy).report["status"] == "pass");
  config.force = true;
  const Ended ended =
      run(config, failing_at(0, "tree_sum", 1, [] { std::this_thread::sleep_for(std::chrono::seconds(10)); }),
          1.5);
  for (int rank = 1; rank < ranks; ++rank) {
    CHECK(ended.outcomes[static_cast<std::size_t>(rank)].exit_code == 7);
    CHECK(ended.outcomes[static_cast<std::size_t>(rank)].peers_lost);
  }
  CHECK(ended.report["status"] == "failed");
  CHECK(ended.report["error"]["class"] == "timeout");
  CHECK_FALSE(ended.said.empty());
}

TEST_CASE("audit: a surviving rank asks for --force as rank 0 would have") {
  const Scratch scratch;
  Config config = config_of(scratch);
  std::filesystem::create_directories(config.out);
  std::ofstream(config.out + "/precious") << "not ours";
  // Rank 0 goes silent before the phase that looks at --out.
  const Ended ended = run(
      config,
      [](int rank) {
        if (rank == 0) std::this_thread::sleep_for(std::chrono::seconds(10));
        return healthy(rank);
      },
      1.5);
  CHECK(ended.outcomes[1].exit_code == 7);
  CHECK_FALSE(std::filesystem::exists(config.out + "/aggregate.json"));
  CHECK(std::filesystem::exists(config.out + "/precious"));
}

TEST_CASE("audit: left-out rows hold one NaN in every digest, a rank's own included") {
  const Scratch scratch;
  Config config = config_of(scratch);
  config.tp = ranks;
  config.cp = 1;
  config.formula = {"fixed-tree", "megatron-unfused"};
  generate(config.dump,
           {.rows = 4, .vocab = 9500, .padded_vocab = 9600, .dtype = Dtype::F32, .profile = Profile::flat});
  {
    std::fstream file(config.dump, std::ios::in | std::ios::out | std::ios::binary);
    const DumpFile dump = DumpFile::open(config.dump);
    const float nan = std::nanf("");
    file.seekp(dump.find("logits")->offset + 2 * 9600 * 4 + 4 * 77);
    file.write(reinterpret_cast<const char*>(&nan), 4);
  }
  const Ended ended = run(config, healthy);
  check_all(ended, 3);
  CHECK(ended.report["input"]["nonfinite"]["active_rows"][0]["row"] == 2);
  CHECK(ended.report["input"]["nonfinite"]["active_rows"][0]["column"] == 77);
  CHECK(ended.report["oracle"]["certified"]["rows"] == 3);
  std::ifstream in(config.out + "/rank-0002.json");
  const json rank = json::parse(in);
  for (const std::size_t f : {0u, 1u})
    CHECK(rank["candidates"][f]["digests"] == ended.report["candidates"][f]["digests"]);
}

TEST_CASE("audit: what a failed run says about its options' sources is true") {
  const Scratch scratch;
  Config config = config_of(scratch);
  config.dump = scratch.path("not there");
  const Ended ended = run(config, healthy);
  check_all(ended, 4);
  CHECK(ended.report["case_sources"]["dump"] == "option");
  CHECK(ended.report["case_sources"]["tp"] == "option");
  CHECK(ended.report["case_sources"]["worst"] == "default");
}

TEST_CASE("audit: a recorded tensor without a single number does not make the run the user's") {
  const Scratch scratch;
  Config config = config_of(scratch);
  config.formula = {"fixed-tree"};
  const std::vector<float> logits(4 * 16, 0.5f), recorded(4, std::nanf(""));
  const std::vector<std::int64_t> targets{0, 1, 2, 3};
  const std::vector<TensorData> tensors{
      {"logits", Dtype::F32, {4, 16}, std::as_bytes(std::span(logits))},
      {"targets", Dtype::I64, {4}, std::as_bytes(std::span(targets))},
      {"rollout_logprobs", Dtype::F32, {4}, std::as_bytes(std::span(recorded))}};
  write_dump(config.dump, tensors);
  const Ended ended = run(config, healthy);
  CHECK(ended.report["scope"] == "self-check");
  CHECK(ended.report["recorded"][0]["vs"]["oracle"]["drift"]["nonfinite"] == 4);
}

TEST_CASE("audit: a world of the wrong size is a usage error and leaves no folder") {
  const Scratch scratch;
  Config config = config_of(scratch);
  config.cp = 1;
  const Ended ended = run(config, healthy);
  check_all(ended, 2);
  CHECK(ended.report.is_null());
}

TEST_CASE("audit: an --out that cannot be made is exit 4 on every rank") {
  const Scratch scratch;
  Config config = config_of(scratch);
  config.out = scratch.write("file", "in the way");
  const Ended ended = run(config, healthy);
  check_all(ended, 4);
}
