// Plug-ins that go wrong: each fault becomes the right Error with the plug-in's name, or a number that no
// gate passes.

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/error.hpp"
#include "plugin/child.hpp"
#include "plugin/plugin_run.hpp"
#include "support/run_command.hpp"

using namespace drift;
using namespace drift::test;

namespace {

std::optional<Error> error_of(const std::function<void()>& action) {
  try {
    action();
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  }
}

bool has(const Error& error, const std::string& text) {
  return std::string(error.what()).find(text) != std::string::npos;
}

/// Loads and runs it on `tp` ranks; the error that came first.
std::optional<Error> run_error(const std::string& stem, int tp = 1) {
  const auto plugin = load_plugin(faulty_plugin(stem));
  return error_of([&] { run_over(*plugin, PluginRows(Shape{}), even_bounds(1024, tp), 40); });
}

void check_load(const std::string& path, Fault fault, const std::vector<std::string>& texts) {
  const auto error = error_of([&] { load_plugin(path); });
  INFO(path);
  REQUIRE(error);
  INFO(error->what());
  CHECK(error->fault() == fault);
  for (const std::string& text : texts) CHECK(has(*error, text));
}

void check_run(const std::string& stem, const std::vector<std::string>& texts, int tp = 1) {
  const auto error = run_error(stem, tp);
  INFO(stem);
  REQUIRE(error);
  INFO(error->what());
  CHECK(error->fault() == Fault::device);
  for (const std::string& text : texts) CHECK(has(*error, text));
}

/// Loads it and runs it over one row, in a child process.
Child run_in_child(const std::string& stem) {
  return in_child([&] {
    const auto plugin = load_plugin(faulty_plugin(stem));
    const auto on = make_cpu_backend();
    const auto tp = make_solo_collective(*on);
    run_rank(*plugin, PluginRows({.rows = 3}), even_bounds(1024, 1), 0, 0, *on, *tp);
  });
}

}  // namespace

TEST_CASE("plug-in: a file that cannot be loaded says why, with the status of who has to act") {
  check_load(faulty_plugin("there_is_none"), Fault::io, {"there_is_none.so", "No such file"});
  check_load(DRIFT_PLUGIN_DIR, Fault::usage, {"shared object"});
  const TemporaryFolder folder;
  std::ofstream(folder.path("text.so")) << "not an object\n";
  check_load(folder.path("text.so"), Fault::usage, {"cannot be loaded", "text.so"});
  std::ofstream(folder.path("empty.so"));
  check_load(folder.path("empty.so"), Fault::usage, {"cannot be loaded"});
  check_load(faulty_plugin("no_functions"), Fault::usage, {"drift_plugin_describe", "extern \"C\""});
  check_load(faulty_plugin("wrong_abi"), Fault::usage, {"ABI 2", "wanted 1"});
  check_load(faulty_plugin("taken_name"), Fault::usage, {"'fixed-tree'", "built-in"});
  check_load(faulty_plugin("bad_name"), Fault::usage, {"'../Kernel'", "a-z"});
  check_load(faulty_plugin("unknown_claim"), Fault::usage, {"'speed'", "padded-width"});
  check_load(faulty_plugin("crashes_in_describe"), Fault::device, {"SIGSEGV", "drift_plugin_describe"});
  check_load(faulty_plugin("crashes_on_load"), Fault::device, {"SIGABRT", "loaded"});
}

TEST_CASE("plug-in: a file without a folder in its name is one of the working folder") {
  const auto here = std::filesystem::current_path();
  std::filesystem::current_path(DRIFT_PLUGIN_DIR);
  const auto plugin = load_plugin("cpu_log_prob.so");
  std::filesystem::current_path(here);
  CHECK(plugin->id == "example-cpu");
}

TEST_CASE("plug-in: what its kernel returns, throws or crashes with names it, the rows and the reason") {
  const std::string rows = "over rows 40 to 45";
  check_run("returns_error",
            {"plug-in returns-error returned error 17", rows, "cannot do 6 rows\\x0a\\x1b[31m"});
  check_run("throws", {"plug-in throws threw an exception: no such tile", rows});
  check_run("segfaults", {"plug-in segfaults crashed with SIGSEGV", rows});
  check_run("overflows_stack", {"crashed with SIGSEGV", rows});
  check_run("aborts", {"crashed with SIGABRT", rows});
  check_run("divides_by_zero", {"crashed with SIGFPE", rows});
  check_run("writes_outside", {"plug-in writes-outside wrote outside its outputs", rows, "wanted 6 values"});
  check_run("writes_inputs", {"plug-in writes-inputs wrote into its inputs", rows});
  check_run("bad_collective", {"plug-in bad-collective calls all_gather"});
  check_run("allocates_nonsense", {"plug-in allocates-nonsense calls allocate", "a size that is none"});
  check_run("allocates_too_much", {"plug-in allocates-too-much asks for 1125899906842624 bytes of scratch"});
}

TEST_CASE(
    "plug-in: crashes on all ranks at once are errors too, and the handlers from before are back "
    "afterwards") {
  struct sigaction before = {}, after = {};
  REQUIRE(::sigaction(SIGSEGV, nullptr, &before) == 0);
  for (int i = 0; i < 20; ++i) check_run("segfaults", {"crashed with SIGSEGV", "of 4)"}, 4);
  REQUIRE(::sigaction(SIGSEGV, nullptr, &after) == 0);
  CHECK(before.sa_sigaction == after.sa_sigaction);
  CHECK(before.sa_flags == after.sa_flags);
}

TEST_CASE("plug-in: after a crash another plug-in runs in the same process") {
  CHECK(run_error("aborts"));
  const auto plugin = load_plugin(example_plugin("cpu_log_prob"));
  const PluginRows rows(Shape{});
  CHECK(closest(*plugin, rows, even_bounds(1024, 2), run_over(*plugin, rows, even_bounds(1024, 2))[0]).lse <=
        1);
}

TEST_CASE("plug-in: a rank that gives up alone strands nobody") {
  check_run("fails_alone", {"plug-in fails-alone returned error 9", "TP rank 1 of 2", "no reason given"}, 2);
}

TEST_CASE("plug-in: an error inside its collectives keeps its own fault") {
  // Rank 1 is not there: rank 0 waits in an all-reduce until its deadline.
  const auto plugin = load_plugin(example_plugin("cpu_log_prob"));
  const PluginRows rows(Shape{});
  const VocabBounds bounds = even_bounds(1024, 2);
  const auto error = error_of([&] {
    ThreadWorld(2, 0.2).run([&](Control& world) {
      if (world.rank() == 1) return;
      const auto on = make_cpu_backend();
      const auto tp = make_staged_collective(*on, world);
      run_rank(*plugin, rows, bounds, 0, 0, *on, *tp);
    });
  });
  REQUIRE(error);
  CHECK(error->fault() == Fault::timeout);
  CHECK(has(*error, "plug-in example-cpu: in its all_"));
}

TEST_CASE("plug-in: a wrong row, a NaN and rows that were forgotten are over every bound") {
  const PluginRows rows(Shape{});
  const VocabBounds bounds = even_bounds(1024, 1);
  for (const char* stem : {"wrong_row", "not_a_number", "forgets_rows"}) {
    const auto plugin = load_plugin(faulty_plugin(stem));
    INFO(stem);
    const Values got = run_over(*plugin, rows, bounds)[0];
    CHECK(closest(*plugin, rows, bounds, got).lse > 1);
    CHECK(closest(*plugin, rows, bounds, got).logp > 1);
    const Values elsewhere = run_over(*plugin, rows, bounds, 40)[0];  // none of these rows has the number 3
    if (stem != std::string("forgets_rows")) CHECK(closest(*plugin, rows, bounds, elsewhere).lse <= 1);
  }
}

TEST_CASE("plug-in: ranks that return different bits are left as they are, for the run to see") {
  const auto plugin = load_plugin(faulty_plugin("one_rank_differs"));
  const auto ranks = run_over(*plugin, PluginRows(Shape{}), even_bounds(1024, 2));
  CHECK(ranks[0].logp[0] != ranks[1].logp[0]);
  CHECK(ranks[0].logp[1] == ranks[1].logp[1]);
}

TEST_CASE("plug-in: exit() within it ends the process with status 5 and its name") {
  const Child child = run_in_child("exits");
  INFO(child.err);
  REQUIRE(WIFEXITED(child.status));
  CHECK(WEXITSTATUS(child.status) == 5);
  CHECK(child.err.find("plug-in exits called exit()") != std::string::npos);
}

TEST_CASE("plug-in: a crash in a thread of its own ends the process, not silently") {
  const Child child = run_in_child("crashes_in_thread");
  INFO(child.err);
  const bool ended_well =
      WIFEXITED(child.status) && (WEXITSTATUS(child.status) == 0 || WEXITSTATUS(child.status) == 99);
  CHECK_FALSE(ended_well);
  CHECK(child.err.find("SIGABRT") != std::string::npos);
  CHECK(child.err.find("plug-in crashes-in-thread") != std::string::npos);
}
