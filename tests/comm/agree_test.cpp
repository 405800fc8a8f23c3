// How phases end, over threads and over one rank; tests/comm/mpi runs the same bodies by mpirun.

#include "support/catch.hpp"

#include "comm/failure_checks.hpp"
#include "comm/solo.hpp"
#include "support/thread_world.hpp"

using namespace drift;
using namespace drift::test;

TEST_CASE("in_phase: all ranks throw the smallest code, then the smallest rank") {
  for (int ranks = 1; ranks <= 5; ++ranks) {
    INFO(ranks << " ranks");
    CHECK_NOTHROW(ThreadWorld(ranks, 60).run(agreements_on_failures));
  }
}

TEST_CASE("in_phase: a world of one throws what its body threw") {
  const auto world = make_solo_control();
  CHECK_NOTHROW(agreements_on_failures(*world));
}

TEST_CASE("in_phase: ranks in different phases are a bug, and both phases are named") {
  for (int ranks = 2; ranks <= 4; ++ranks)
    CHECK_NOTHROW(ThreadWorld(ranks, 60).run(phases_that_differ_are_named));
}

TEST_CASE("in_phase: a failing rank wakes those that wait for it, in any group") {
  for (int ranks = 1; ranks <= 4; ++ranks)
    for (int failing = 0; failing < ranks; ++failing) {
      INFO("rank " << failing << " of " << ranks);
      CHECK_NOTHROW(
          ThreadWorld(ranks, 60).run([&](Control& world) { alarm_wakes_waiting_ranks(world, failing); }));
    }
}

TEST_CASE("in_phase: a silent rank is a timeout that names it, in time") {
  for (const int silent : {0, 2}) {
    INFO("rank " << silent);
    CHECK_NOTHROW(ThreadWorld(3, 60).run([&](Control& world) {
      silence_is_a_timeout(world, silent, 0.4, [] { std::this_thread::sleep_for(std::chrono::seconds(3)); });
    }));
  }
}

TEST_CASE("in_phase: a failure that cannot be agreed on keeps its own code and message") {
  CHECK_NOTHROW(ThreadWorld(2, 60).run([](Control& world) {
    world.set_timeout(0.2);
    if (world.rank() == 1) return;  // dead
    const AgreedError error = failure_of(world, "load", [] { throw Error(Fault::input, "bad dump"); });
    expect(error.fault() == Fault::input && std::string(error.what()).starts_with("bad dump (and "),
           error.what());
  }));
}

TEST_CASE("in_phase: the checks of this file can fail") {
  CHECK_THROWS_AS(ThreadWorld(2, 60).run([](Control& world) { failure_of(world, "fine", [] {}); }),
                  std::logic_error);
}
