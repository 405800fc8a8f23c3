// What goes wrong, on one rank and on several: the status, the report that is left, the message.

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

/// Every rank's own status. mpirun kills the others as soon as one rank ends with a status that is not 0, so
/// each program runs in a session of its own, in which a shell outlives that and takes the note.
std::vector<int> status_of_each_rank(int ranks, const TemporaryFolder& folder, const std::string& arguments) {
  const auto note = [&](int rank) { return folder.path("status." + std::to_string(rank)); };
  for (int rank = 0; rank < ranks; ++rank) std::filesystem::remove(note(rank));
  const std::string script = folder.path("rank.sh");
  std::ofstream(script) << "'" << DRIFT_BINARY << "' " << arguments << "\ncode=$?\n"
                        << "echo $code > '" << folder.path("part.") << "'$OMPI_COMM_WORLD_RANK\n"
                        << "mv '" << folder.path("part.") << "'$OMPI_COMM_WORLD_RANK '"
                        << folder.path("status.") << "'$OMPI_COMM_WORLD_RANK\nexit $code\n";
  const Ran ran = run_on_ranks(ranks, {"setsid", "--wait", "sh", script},
                               {.environment = {}, .directory = folder.path()});
  INFO(ran.all());
  std::vector<int> out;
  for (int rank = 0; rank < ranks; ++rank) {
    for (int tries = 0; tries < 100 && !std::filesystem::exists(note(rank)); ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const std::string text = file_text(note(rank));
    REQUIRE_FALSE(text.empty());
    out.push_back(std::stoi(text));
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
    CHECK(status_of_each_rank(4, folder, expected.arguments) == std::vector<int>(4, expected.code));
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

}  // namespace drift
