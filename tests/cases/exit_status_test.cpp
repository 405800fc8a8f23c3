// What goes wrong, on one rank and on several: the status, the report that is left, the message.

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

#include "case_run.hpp"

namespace drift {
namespace {

using namespace test;

TinyDump fine() {
  TinyDump dump;
  dump.f32("logits", {4, 6}, {1, 2, 3, 4, 5, 6, 6, 5, 4, 3, 2, 1, 1, 1, 1, 1, 1, 1, 0, 9, 0, 9, 0, 9})
      .i64("targets", {4}, {0, 1, 2, 3});
  return dump;
}

constexpr int unknown = -1;

/// Every rank's own status, noted by a shell around it. mpirun kills the rest of a job once ranks have ended
/// with a status that is not 0. `launcher`: what starts the shell, so that it may outlive that; else its note
/// may be missing (unknown). A shell waits for its program, and a trap is not inherited as "ignore" would be:
/// what is noted is what the program met.
std::vector<int> status_of_each_rank(int ranks, const TemporaryFolder& folder, const std::string& arguments,
                                     std::vector<std::string> launcher) {
  const auto note = [&](int rank) { return folder.path("status." + std::to_string(rank)); };
  for (int rank = 0; rank < ranks; ++rank) std::filesystem::remove(note(rank));
  const std::string script = folder.path("rank.sh");
  std::ofstream(script) << "trap : TERM\n'" << DRIFT_BINARY << "' " << arguments << "\ncode=$?\n"
                        << "echo $code > '" << folder.path("status.")
                        << "'$OMPI_COMM_WORLD_RANK\nexit $code\n";
  const bool all_noted = !launcher.empty();
  launcher.insert(launcher.end(), {"sh", script});
  const Ran ran = run_on_ranks(ranks, launcher, {.environment = {}, .directory = folder.path()});
  INFO(ran.all());
  std::vector<int> out;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto noted = [&] { return file_text(note(rank)).ends_with('\n'); };
    for (int tries = 0; all_noted && tries < 100 && !noted(); ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    REQUIRE((noted() || !all_noted));
    out.push_back(noted() ? std::stoi(file_text(note(rank))) : unknown);
  }
  return out;
}

}  // namespace

TEST_CASE("exit status: every rank returns the same code", "[status]") {
  if (skipped_without_mpirun()) return;
  TemporaryFolder folder;
  fine().write(folder.path("fine"));
  TinyDump bad_target = fine();
  bad_target.mask("mask", {4}, {1, 1, 1, 2}).write(folder.path("bad"));
  struct Expected {
    std::string arguments;
    int code;
  };
  const std::string cpu = " --tp 2 --cp 2 --backend cpu --out ";
  for (const Expected& expected : {Expected{"run fine" + cpu + "a", 0},
                                   {"run fine" + cpu + "b --gate 'input.rows == 5'", 1},
                                   {"run fine --tp 2 --cp 4 --backend cpu --out c", 2},
                                   {"run fine --tp 2 --tp 2", 2},
                                   {"run fine" + cpu + "d --gate 'no.such == 5'", 2},
                                   {"run bad" + cpu + "e", 3},
                                   {"run absent" + cpu + "f", 4},
                                   {"run fine" + cpu + "a", 4}}) {
    INFO(expected.arguments);
    const std::vector<std::string> own_session{"setsid", "--wait"};
    CHECK(status_of_each_rank(4, folder, expected.arguments, own_session) ==
          std::vector<int>(4, expected.code));
  }
}

TEST_CASE("exit status: no rank dies of the signals that mpirun sends when the first one ends", "[status]") {
  if (skipped_without_mpirun()) return;
  TemporaryFolder folder;
  fine().write(folder.path("fine"));
  for (const auto& [arguments, code] :
       {std::pair("run fine --tp 2 --cp 2 --backend cpu -q --force --out o --gate 'input.rows == 5'", 1),
        std::pair("run absent --tp 2 --cp 2 --backend cpu -q --force --out o", 4),
        std::pair("run fine --tp 2 --tp 2", 2)})
    for (int i = 0; i < 3; ++i) {
      INFO(arguments);
      const std::vector<int> seen = status_of_each_rank(4, folder, arguments, {});
      for (const int status : seen) CHECK((status == code || status == unknown));
      CHECK(std::count(seen.begin(), seen.end(), code) >= 2);
    }
}

TEST_CASE("exit status: mpirun hands the code on", "[status]") {
  if (skipped_without_mpirun()) return;
  CaseFolder folder;
  CHECK(folder.run(fine(), 2, 2).ran.exit_code == 0);
  CHECK(folder.run(fine(), 2, 2, {"--gate", "input.rows == 5"}).ran.exit_code == 1);
  const Audit bad = folder.run(fine().mask("mask", {4}, {0, 0, 0, 0}), 2, 2);
  INFO(bad.ran.all());
  CHECK(bad.ran.exit_code == 3);
  REQUIRE(bad.has_report());
  CHECK(bad.aggregate.at("error").at("phase") == "load");
}

TEST_CASE("exit status: a failed run leaves a report that says what, where and why", "[status]") {
  CaseFolder folder;
  const Audit absent = folder.run(folder.path("absent"), 1);
  INFO(absent.ran.all());
  CHECK(absent.ran.exit_code == 4);
  REQUIRE(absent.has_report());
  const auto& report = absent.aggregate;
  for (const char* key : {"schema", "status", "exit_code", "scope", "case", "case_sources", "case_id",
                          "environment", "error", "reproduce"})
    CHECK(report.contains(key));
  CHECK(report.at("status") == "failed");
  CHECK(report.at("error").at("class") == "io");
  CHECK(report.at("error").at("rank") == 0);
  CHECK_FALSE(report.contains("candidates"));
}

TEST_CASE("exit status: more or fewer ranks than tp x cp, before any of them waits", "[status]") {
  if (skipped_without_mpirun()) return;
  TemporaryFolder folder;
  const std::string dump = fine().write(folder.path("fine"));
  for (const int ranks : {1, 2, 3}) {
    const Ran ran =
        drift_audit_on(ranks, {"run", dump, "--tp", "2", "--cp", "2"}, {.directory = folder.path()});
    INFO(ran.all());
    CHECK(ran.exit_code == 2);
    CHECK(ran.err.find("wants 4") != std::string::npos);
    CHECK(ran.err.find("-np 4 ") != std::string::npos);
  }
}

TEST_CASE("exit status: a stdout that takes nothing does not change the verdict", "[status]") {
  TemporaryFolder folder;
  fine().write(folder.path("fine"));
  const How there{.environment = {}, .directory = folder.path()};
  const std::string run = std::string("'") + DRIFT_BINARY + "' run fine --backend cpu --force --out o ";
  struct Expected {
    std::string options;
    int code;
  };
  for (const char* nowhere : {">/dev/full", ">&-"}) {
    for (const Expected& expected : {Expected{"", 0}, {"--gate 'input.rows == 5'", 1}}) {
      const std::string line = run + expected.options + nowhere;
      const Ran alone = run_command({"sh", "-c", line}, there);
      INFO(alone.all());
      CHECK(alone.exit_code == expected.code);
      CHECK(alone.err.find("stdout did not take all of the table") != std::string::npos);
      CHECK(std::filesystem::exists(folder.path("o/aggregate.json")));
    }
    if (!skipped_without_mpirun()) {
      const Ran launched = run_on_ranks(2, {"sh", "-c", run + "--tp 2 " + nowhere}, there);
      INFO(launched.all());
      CHECK(launched.exit_code == 0);
      CHECK(launched.err.find("stdout did not take all of the table") != std::string::npos);
    }
  }
  CHECK(run_command({"sh", "-c", run + "--dry-run >/dev/full"}, there).exit_code ==
        4);  // there it is the result
}

TEST_CASE("exit status: reports beyond a size limit are exit 4, and no temporary file stays", "[status]") {
  TemporaryFolder folder;
  fine().write(folder.path("fine"));
  const Ran ran = run_command(
      {"sh", "-c", std::string("ulimit -f 2; '") + DRIFT_BINARY + "' run fine --backend cpu --out o"},
      {.environment = {}, .directory = folder.path()});
  INFO(ran.all());
  CHECK(ran.exit_code == 4);
  for (const auto& entry : std::filesystem::directory_iterator(folder.path("o")))
    CHECK(entry.path().extension() != ".tmp");
}

TEST_CASE("exit status: a rank number that no launcher gave silences nobody", "[status]") {
  TemporaryFolder folder;
  fine().write(folder.path("fine"));
  for (const auto& variables :
       {std::vector<std::string>{"PMIX_RANK=3"}, {"OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK=3"}}) {
    if (variables.size() > 1 && skipped_without_mpirun()) continue;
    const Ran ran = drift_audit({"run", "fine", "--backend", "cpu", "-q"},
                                {.environment = variables, .directory = folder.path()});
    INFO(ran.all());
    CHECK(ran.exit_code == 0);
    CHECK(ran.out.rfind("PASS: ", 0) == 0);
  }
}

}  // namespace drift
