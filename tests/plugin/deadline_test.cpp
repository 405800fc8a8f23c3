// Calls that never return: a timeout with the plug-in's name, soon, and never a hang.

#include <chrono>
#include <csignal>
#include <optional>
#include <thread>

#include "base/error.hpp"
#include "comm/host_backend.hpp"
#include "plugin/child.hpp"
#include "plugin/plugin_run.hpp"

using namespace drift;
using namespace drift::test;

namespace {

void check_late(const std::optional<Met>& met, const std::vector<std::string>& texts) {
  REQUIRE(met);
  INFO(met->text);
  CHECK(met->fault == Fault::timeout);
  for (const std::string& text : texts) CHECK(met->text.find(text) != std::string::npos);
}

/// Two TP ranks in memory that plays a GPU's. Rank 1 comes 0.6 s late.
Child on_a_device(const std::string& plugin_path, double deadline_seconds) {
  return in_child([&] {
    const auto plugin = load_plugin(plugin_path, deadline_seconds);
    const PluginRows rows(Shape{});
    const VocabBounds bounds = even_bounds(1024, 2);
    ThreadWorld(2).run([&](Control& world) {
      HostBackend on(false);
      const auto group = make_staged_collective(on, world);
      if (world.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(600));
      run_rank(*plugin, rows, bounds, 0, world.rank(), on, *group);
    });
  });
}

}  // namespace

TEST_CASE("plug-in: a call that never returns is left at its deadline, with its name and rows") {
  const auto plugin = load_plugin(faulty_plugin("never_returns"), 0.2);
  struct sigaction before = {}, after = {};
  REQUIRE(::sigaction(SIGURG, nullptr, &before) == 0);
  for (const int tp : {1, 4})
    for (const auto& met : met_by_ranks(*plugin, tp))
      check_late(met, {"plug-in never-returns has not returned for 0.2 s", "over rows 40 to 45"});
  REQUIRE(::sigaction(SIGURG, nullptr, &after) == 0);
  CHECK(before.sa_handler == after.sa_handler);
}

TEST_CASE("plug-in: whoever waits for a rank that sleeps names the plug-in, too") {
  const auto plugin = load_plugin(faulty_plugin("sleeps_alone"), 0.6);
  const auto met = met_by_ranks(*plugin, 2, 0.2);  // rank 0 gives up first
  check_late(met[0], {"plug-in sleeps-alone: in its all_reduce_max: ", "did not answer"});
  check_late(met[1], {"plug-in sleeps-alone has not returned for 0.6 s", "TP rank 1 of 2"});
}

TEST_CASE("plug-in: time in callbacks does not count, and each of them is a sign of life") {
  CHECK_FALSE(met_by_ranks(*load_plugin(faulty_plugin("slow_but_alive"), 0.4), 1)[0]);
  // Rank 1 comes late: rank 0 waits in its collective for longer than its deadline.
  const auto plugin = load_plugin(example_plugin("cpu_log_prob"), 0.2);
  const PluginRows rows(Shape{});
  const VocabBounds bounds = even_bounds(1024, 2);
  CHECK_NOTHROW(ThreadWorld(2).run([&](Control& world) {
    const auto on = make_cpu_backend();
    const auto group = make_staged_collective(*on, world);
    if (world.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(600));
    run_rank(*plugin, rows, bounds, 0, world.rank(), *on, *group);
  }));
}

TEST_CASE("plug-in: after a call that was left, another plug-in runs in the same process") {
  REQUIRE(met_by_ranks(*load_plugin(faulty_plugin("never_returns"), 0.05), 2)[1]);
  const auto plugin = load_plugin(example_plugin("cpu_log_prob"));
  const PluginRows rows(Shape{});
  const VocabBounds bounds = even_bounds(1024, 2);
  CHECK(closest(*plugin, rows, bounds, run_over(*plugin, rows, bounds)[1]).lse <= 1);
}

TEST_CASE("plug-in: one that hangs while it is loaded is a timeout with its path") {
  try {
    load_plugin(faulty_plugin("hangs_on_load"), 0.1);
    FAIL("it was loaded");
  } catch (const Error& error) {
    CHECK(error.fault() == Fault::timeout);
    CHECK(std::string(error.what()).find("hangs_on_load.so has not returned") != std::string::npos);
  }
}

TEST_CASE("plug-in: one that cannot be interrupted ends the process with status 7 and its name") {
  const Child child = in_child([] { met_by_ranks(*load_plugin(faulty_plugin("blocks_signals"), 0.1), 1); });
  INFO(child.err);
  REQUIRE(WIFEXITED(child.status));
  CHECK(WEXITSTATUS(child.status) == 7);
  CHECK(child.err.find("plug-in blocks-signals has not returned for 0.1 s") != std::string::npos);
}

TEST_CASE("plug-in: on a GPU a call that never returns ends the process, and waiting for peers does not") {
  const Child stuck = on_a_device(faulty_plugin("never_returns"), 0.2);
  INFO(stuck.err);
  REQUIRE(WIFEXITED(stuck.status));
  CHECK(WEXITSTATUS(stuck.status) == 7);
  CHECK(stuck.err.find("plug-in never-returns has not returned for 0.2 s") != std::string::npos);
  const Child waited = on_a_device(faulty_plugin("one_rank_differs"), 0.2);
  INFO(waited.err);
  REQUIRE(WIFEXITED(waited.status));
  CHECK(WEXITSTATUS(waited.status) == ran_to_its_end);
}
