// Every option of `run`, through the binary, with what it must change.

#include <fstream>
#include <set>

#include "audit/options.hpp"
#include "case_run.hpp"

namespace drift {
namespace {

using namespace test;

TinyDump dump_of(const std::string& recorded = "rollout_logprobs") {
  TinyDump dump;
  dump.bf16("logits", {2, 2, 8}, {1, 2,   3,    4, 5, 6, 7, 7, 1,  1, 1, 1, 1, 1, 1, 1,
                                  0, .5f, .25f, 2, 1, 3, 9, 9, -1, 0, 1, 2, 3, 4, 5, 5})
      .i64("targets", {2, 2}, {0, 1, -100, 5})
      .f32(recorded, {2, 2}, {-5.4f, -1.8f, 0, -0.4f})
      .meta("real_vocab_size", "6");
  return dump;
}

nlohmann::json case_of(const Audit& audit) {
  INFO(audit.ran.all());
  REQUIRE(audit.has_report());
  return audit.aggregate.at("case");
}

}  // namespace

TEST_CASE("options: the case of a run, with where each value came from", "[options]") {
  CaseFolder folder;
  const Audit audit = folder.run(dump_of(), 1);
  const auto values = case_of(audit);
  CHECK(audit.ran.exit_code == 0);
  CHECK(values.at("real_vocab") == 6);
  CHECK(values.at("recorded") == nlohmann::json::array({"rollout_logprobs"}));
  CHECK(audit.aggregate.at("case_sources").at("real_vocab") == "metadata");
  CHECK(audit.aggregate.at("case_sources").at("backend") == "option");
  CHECK(audit.aggregate.at("case_sources").at("temperature") == "default");
  CHECK(audit.aggregate.at("scope") == "user");
  for (const Option& option : run_options())
    if (!option.in_case) CHECK_FALSE(values.contains(key_of(option.name)));
}

TEST_CASE("options: topology", "[options]") {
  if (skipped_without_mpirun()) return;
  CaseFolder folder;
  const Audit audit =
      folder.run(dump_of(), 2, 2, {"--cp-layout", "zigzag", "--vocab-bounds", "0,2,8", "--transport", "mpi"});
  CHECK(case_of(audit).at("vocab_bounds") == nlohmann::json::array({0, 2, 8}));
  CHECK(audit.ran.exit_code == 0);
  const auto& topology = audit.aggregate.at("topology");
  CHECK(topology.at("world") == 4);
  CHECK(topology.at("cp_layout") == "zigzag");
  CHECK(audit.aggregate.at("ranks").at(1).at("columns") == nlohmann::json::array({2, 8}));
  CHECK(audit.aggregate.at("candidates").at(0).at("transport").at("actual") == "mpi");
}

TEST_CASE("options: formulas", "[options]") {
  CaseFolder folder;
  const Audit all = folder.run(dump_of(), 1, 1, {"--formula", "all"});
  INFO(all.ran.all());
  CHECK(all.ran.exit_code == 0);
  CHECK(all.aggregate.at("candidates").size() == 2);
  CHECK(all.aggregate.at("rejected").at(0).at("formula") == "torch-log-softmax-f32");
  const Audit two = folder.run(dump_of(), 1, 1, {"--formula", "megatron-unfused,fixed-tree"});
  CHECK(two.aggregate.at("candidates").at(0).at("formula") == "megatron-unfused");
  CHECK(folder.run(dump_of(), 1, 1, {"--formula", "torch-log-softmax-f32"}).ran.exit_code == 2);
}

TEST_CASE("options: a backend that is not there is exit 5, never a silent fallback", "[options]") {
  CaseFolder folder;
  const Audit audit = folder.run(dump_of(), 1, 1, {"--backend", "cuda"});
  INFO(audit.ran.all());
  if (audit.ran.exit_code == 0) {
    CHECK(audit.aggregate.at("candidates").at(0).at("backend").at("actual") == "cuda");
  } else {
    CHECK(audit.ran.exit_code == 5);
    CHECK(audit.aggregate.at("error").at("class") == "device");
  }
  const Audit automatic = folder.run(dump_of(), 1, 1, {"--backend", "auto"});
  CHECK(automatic.ran.exit_code == 0);
  CHECK(automatic.aggregate.at("candidates").at(0).at("backend").at("requested") == "auto");
}

TEST_CASE("options: values", "[options]") {
  CaseFolder folder;
  const Audit typed = folder.run(dump_of(), 1, 1,
                                 {"--temperature", "0.5", "--temperature-order", "reciprocal",
                                  "--candidate-dtype", "f16", "--real-vocab", "7", "--padding", "mask"});
  const auto values = case_of(typed);
  CHECK(typed.ran.exit_code == 0);
  CHECK(values.at("temperature") == 0.5);
  CHECK(values.at("temperature_order") == "reciprocal");
  CHECK(values.at("candidate_dtype") == "f16");
  CHECK(values.at("real_vocab") == 7);
  CHECK(typed.aggregate.at("case_sources").at("real_vocab") == "option");
  CHECK(typed.ran.out.find("--real-vocab 7 overrides") != std::string::npos);
  CHECK(folder.run(dump_of(), 1, 1, {"--real-vocab", "9"}).ran.exit_code == 2);
}

TEST_CASE("options: names", "[options]") {
  CaseFolder folder;
  TinyDump dump;
  dump.f32("x", {1, 3, 4}, {1, 2, 3, 4, 4, 3, 2, 1, 0, 0, 0, 0})
      .i64("ids", {1, 3}, {3, 0, 2})
      .mask("keep", {1, 3}, {1, 0, 0})
      .f32("mine", {1, 3}, {-3.44f, 0, 0});
  const Audit audit = folder.run(dump, 1, 1,
                                 {"--logits", "x", "--targets", "ids", "--targets-are", "input-ids", "--mask",
                                  "keep", "--recorded", "mine"});
  INFO(audit.ran.all());
  CHECK(audit.ran.exit_code == 0);
  CHECK(audit.aggregate.at("recorded").at(0).at("name") == "mine");
  // Row 0 predicts the token of row 1, which is 0.
  CHECK(audit.aggregate.at("candidates").at(0).at("worst").at("logp").at(0).at("target") == 0);
  CHECK(std::abs(audit.column("oracle_logp").at(0) + 3.4401896985611953) < 2e-6);
  CHECK(folder.run(dump, 1, 1, {"--logits", "absent"}).ran.exit_code == 3);
}

TEST_CASE("options: ignore index", "[options]") {
  CaseFolder folder;
  const Audit audit = folder.run(dump_of(), 1, 1, {"--ignore-index", "1"});
  INFO(audit.ran.all());
  CHECK(audit.ran.exit_code == 3);  // -100 is now a target outside the vocabulary
  TinyDump dump;
  dump.f32("logits", {2, 3}, {1, 2, 3, 3, 2, 1}).i64("targets", {2}, {-7, 1});
  CHECK(folder.run(dump, 1, 1, {"--ignore-index", "-7"}).aggregate.at("input").at("active_rows") == 1);
}

TEST_CASE("options: rows per chunk and worst", "[options]") {
  CaseFolder folder;
  const Audit audit = folder.run(dump_of(), 1, 1, {"--rows-per-chunk", "1", "--worst", "2"});
  CHECK(case_of(audit).at("rows_per_chunk") == 1);
  CHECK(audit.aggregate.at("candidates").at(0).at("worst").at("lse").size() == 2);
  const Audit none = folder.run(dump_of(), 1, 1, {"--worst", "0"});
  CHECK(none.ran.exit_code == 0);
  CHECK(none.aggregate.at("candidates").at(0).at("worst").at("lse").empty());
}

TEST_CASE("options: tolerances replace the derived limit", "[options]") {
  CaseFolder folder;
  const auto from = [&](std::vector<std::string> options) {
    const Audit audit = folder.run(dump_of(), 1, 1, std::move(options));
    INFO(audit.ran.all());
    REQUIRE(audit.has_report());
    return audit.aggregate.at("gates").at(0).at("from").get<std::string>();
  };
  CHECK(from({}) == "derived");
  CHECK(from({"--tolerance", "derived"}) == "derived");
  CHECK(from({"--tolerance", "rl-kernel-ws1"}) == "profile:rl-kernel-ws1");
  CHECK(from({"--atol", "1e-5"}) == "option");
  CHECK(from({"--rtol", "1e-5"}) == "option");
  CHECK(folder.run(dump_of(), 1, 1, {"--rtol", "0", "--tolerance", "rl-kernel-ws1"}).ran.exit_code == 2);
}

TEST_CASE("options: a gate on any number decides the exit status", "[options]") {
  CaseFolder folder;
  const auto exit_code = [&](const std::string& gate) {
    const Audit audit = folder.run(dump_of(), 1, 1, {"--gate", gate, "--gate", "input.rows == 4"});
    INFO(audit.ran.all());
    return audit.ran.exit_code;
  };
  CHECK(exit_code("recorded.rollout_logprobs.vs.oracle.max_abs < 1") == 0);
  CHECK(exit_code("recorded.rollout_logprobs.vs.oracle.mismatch_count == 0") == 1);
  CHECK(exit_code("recorded.no_such.vs.oracle.max_abs < 1") == 2);
  CHECK(exit_code("input.rows ==") == 2);
  CHECK(exit_code("status == 0") == 2);  // not a number
}

TEST_CASE("options: required claims", "[options]") {
  CaseFolder folder;
  const Audit audit = folder.run(dump_of(), 1, 1, {"--require", "tp,rows,replicated"});
  INFO(audit.ran.all());
  CHECK(audit.ran.exit_code == 0);
  const auto& determinism = audit.aggregate.at("contract").at("reduction").at("determinism");
  CHECK(determinism.at("required") == nlohmann::json::array({"tp", "rows", "replicated"}));
  CHECK(folder.run(dump_of(), 1, 1, {"--require", "tp", "--formula", "megatron-unfused"}).ran.exit_code == 2);
}

TEST_CASE("options: certify", "[options]") {
  CaseFolder folder;
  const auto rows = [&](const std::string& how) {
    const Audit audit = folder.run(dump_of(), 1, 1, {"--certify", how});
    INFO(audit.ran.all());
    REQUIRE(audit.ran.exit_code == 0);
    return audit.aggregate.at("oracle").at("certified").at("rows").get<int>();
  };
  CHECK(rows("all") == 4);
  CHECK(rows("off") == 0);
  CHECK(rows("sample") >= 1);
}

TEST_CASE("options: out, force and the default folder", "[options]") {
  TemporaryFolder folder;
  const std::string dump = dump_of().write(folder.path("d.safetensors"));
  const How there{.environment = {}, .directory = folder.path()};
  const auto run = [&](std::vector<std::string> options) {
    std::vector<std::string> words{"run", "d.safetensors", "--backend", "cpu"};
    words.insert(words.end(), options.begin(), options.end());
    const Ran ran = drift_audit(words, there);
    INFO(ran.all());
    return ran.exit_code;
  };
  CHECK(run({}) == 0);
  CHECK(run({}) == 0);  // the same case replaces itself
  std::set<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path("drift-reports")))
    folders.insert(entry.path().filename());
  REQUIRE(folders.size() == 1);
  CHECK(folders.begin()->size() == 16);

  CHECK(run({"--out", "o"}) == 0);
  CHECK(run({"--out", "o"}) == 4);
  CHECK(run({"--out", "o", "--force"}) == 0);
  // The default folder, once something else is in it.
  const std::string own = folder.path("drift-reports/" + *folders.begin());
  std::filesystem::remove_all(own);
  std::filesystem::create_directory(own);
  std::ofstream(own + "/notes.txt") << "mine";
  CHECK(run({}) == 4);
  const Ran forced = drift_audit({"run", "d.safetensors", "--backend", "cpu", "--force"}, there);
  INFO(forced.all());
  CHECK(forced.exit_code == 0);
  CHECK(forced.out.find("--force has no effect") == std::string::npos);
  CHECK(file_text(own + "/notes.txt") == "mine");

  CHECK(run({"--out", "/proc/no/such"}) == 4);
  CHECK(run({"--out", "d.safetensors"}) == 4);
}

TEST_CASE("options: quiet prints the verdict line alone, verbose changes no result", "[options]") {
  CaseFolder folder;
  const Audit quiet = folder.run(dump_of(), 1, 1, {"-q"});
  INFO(quiet.ran.all());
  CHECK(lines_of(quiet.ran.out).size() == 1);
  CHECK(quiet.ran.out.rfind("PASS: ", 0) == 0);
  const Audit verbose = folder.run(dump_of(), 1, 1, {"-v", "--collective-timeout", "30"});
  INFO(verbose.ran.all());
  CHECK(verbose.ran.exit_code == 0);
  CHECK(verbose.ran.out.find("--collective-timeout has no effect here") != std::string::npos);
}

TEST_CASE("options: the reproduce line runs, and gives the same case", "[options]") {
  TemporaryFolder folder;
  dump_of("my logprobs").write(folder.path("a dump.safetensors"));
  const How there{.environment = {}, .directory = folder.path()};
  const Ran ran = drift_audit({"run", "a dump.safetensors", "--backend", "cpu", "--recorded", "my logprobs",
                               "--gate", "recorded[\"my logprobs\"].vs.oracle.max_abs < 5", "--temperature",
                               "0.7", "--worst", "3", "--out", "first"},
                              there);
  INFO(ran.all());
  REQUIRE(ran.exit_code == 0);
  const auto first = nlohmann::json::parse(file_text(folder.path("first/aggregate.json")));
  if (skipped_without_mpirun()) return;
  const std::string line = first.at("reproduce");
  CHECK(ran.out.find("# reproduce    " + line) != std::string::npos);
  const Ran again = run_command({"sh", "-c", line + " --out second"}, there);
  INFO(again.all());
  CHECK(again.exit_code == 0);
  const auto second = nlohmann::json::parse(file_text(folder.path("second/aggregate.json")));
  CHECK(second.at("case") == first.at("case"));
  CHECK(second.at("case_id") == first.at("case_id"));
  CHECK(second.at("candidates").at(0).at("digests") == first.at("candidates").at(0).at("digests"));
}

TEST_CASE("options: the MPI library is named in the same way with and without a launcher", "[options]") {
  if (skipped_without_mpirun()) return;
  CaseFolder folder;
  const auto mpi = [](const Audit& audit) {
    INFO(audit.ran.all());
    REQUIRE(audit.has_report());
    return audit.aggregate.at("environment").at("versions").at("mpi").get<std::string>();
  };
  const std::string alone = mpi(folder.run(dump_of(), 1));
  CHECK(alone == mpi(folder.run(dump_of(), 2)));
  CHECK(alone.find("MPI") != std::string::npos);  // a library's name, not a version of the standard
}

}  // namespace drift
