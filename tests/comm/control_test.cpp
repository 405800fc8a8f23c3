// The promises of Control over threads and over one rank; tests/comm/mpi runs the same bodies by mpirun.

#include "support/catch.hpp"

#include "comm/control_checks.hpp"
#include "comm/solo.hpp"
#include "support/thread_world.hpp"

using namespace drift;
using namespace drift::test;

TEST_CASE("control: every promise holds over threads, for 1 to 5 ranks") {
  for (const Check& check : healthy_checks())
    for (int ranks = 1; ranks <= 5; ++ranks) {
      INFO(check.name << ", " << ranks << " ranks");
      CHECK_NOTHROW(ThreadWorld(ranks, 60).run(check.run));
    }
}

TEST_CASE("control: every promise holds for a world of one") {
  for (const Check& check : healthy_checks()) {
    INFO(check.name);
    const auto world = make_solo_control();
    CHECK_NOTHROW(check.run(*world));
  }
}

TEST_CASE("solo: an alarm shuts data calls, also of groups") {
  const auto world = make_solo_control();
  const auto group = world->split(0, 0);
  CHECK_NOTHROW(group->poll());
  group->alarm(false);
  CHECK_THROWS_AS(world->poll(), Interrupted);
  CHECK_THROWS_AS(world->broadcast({}), Interrupted);
  CHECK_THROWS_AS(group->gather({}), Interrupted);
  int mine = 7, all = 0;
  CHECK_NOTHROW(world->all_gather_status(&mine, &all, sizeof mine));
  CHECK(all == 7);
}

TEST_CASE("solo collective: gathers copy and reductions change nothing") {
  HostBackend backend(false);
  const auto solo = make_solo_collective(backend);
  CHECK(solo->rank() == 0);
  CHECK(solo->size() == 1);
  CHECK(solo->transport() == "solo");
  float mine[2] = {1.5f, -0.0f}, all[2] = {};
  solo->all_gather(mine, all, sizeof mine);
  CHECK(std::memcmp(mine, all, sizeof mine) == 0);
  solo->all_reduce(all, 2, Reduce::sum);
  CHECK(std::memcmp(mine, all, sizeof mine) == 0);
}

TEST_CASE("thread world: the exception that came first is thrown again") {
  const auto body = [](Control& world) {
    if (world.rank() == 2) throw Error(Fault::io, "first");
    world.broadcast({});  // woken by the alarm, where it waits at all
    world.gather({});
  };
  try {
    ThreadWorld(3, 60).run(body);
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.fault() == Fault::io);
    CHECK(std::string(error.what()) == "first");
  }
}

TEST_CASE("staged collective: a negative or overflowing size is refused") {
  HostBackend backend(true);
  const auto world = make_solo_control();
  const auto staged = make_staged_collective(backend, *world);
  CHECK(staged->transport() == "mpi");
  CHECK_THROWS_AS(staged->all_gather(nullptr, nullptr, -1), Error);
  CHECK_THROWS_AS(staged->all_reduce(nullptr, std::int64_t{1} << 62, Reduce::sum), Error);
}
