// The promises of Control and in_phase over real MPI. One scenario per launch, since most leave a world that
// only agrees:
//
//   drift_mpi_checks healthy          all promises; exit 0
//   drift_mpi_checks failures         agreements on failures without pending data; exit 4 on every rank
//   drift_mpi_checks differ           ranks in different phases; exit 8 on every rank
//   drift_mpi_checks fail K           rank K fails while the others wait for it; exit 4 on every rank
//   drift_mpi_checks silent K         rank K sleeps without MPI; the others end the job: exit 7
//   drift_mpi_checks stopped K        the same with SIGSTOP
//   drift_mpi_checks killed K         rank K dies by SIGKILL; mpirun's exit 137
//   drift_mpi_checks drift            all agree on exit 1, after rank 0 has written slowly
//   drift_mpi_checks parting          SIGTERM after the way out is ignored; exit 0 on every rank
//   drift_mpi_checks orphan           all wait; the driver kills mpirun and looks for survivors
//   drift_mpi_checks speed            prints what small and large all_gathers cost

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>

#include "comm/failure_checks.hpp"
#include "comm/mpi/mpi_session.hpp"

using namespace drift;
using namespace drift::test;

namespace {

void sleep_seconds(int seconds) { std::this_thread::sleep_for(std::chrono::seconds(seconds)); }

double time_of(int times, const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / times;
}

void speed(Control& world) {
  for (const std::int64_t bytes :
       {std::int64_t{8}, std::int64_t{1024}, std::int64_t{1} << 20, std::int64_t{64} << 20}) {
    std::vector<std::byte> mine(static_cast<std::size_t>(bytes)),
        all(mine.size() * static_cast<std::size_t>(world.size()));
    const auto gather = [&] { world.all_gather(mine.data(), all.data(), bytes); };
    gather();
    const double seconds = time_of(bytes > 100'000 ? 5 : 500, gather);
    if (world.rank() == 0)
      std::printf("all_gather of %lld bytes from %d ranks: %.1f us, %.2f GB/s\n",
                  static_cast<long long>(bytes), world.size(), seconds * 1e6,
                  static_cast<double>(bytes) * world.size() / seconds / 1e9);
  }
}

/// The exit code of this scenario.
int run(Control& world, const std::string& scenario, int rank) {
  const bool chosen = world.rank() == rank;
  if (scenario == "healthy") {
    for (const Check& check : healthy_checks()) {
      if (world.rank() == 0) std::printf("%s\n", std::string(check.name).c_str());
      in_phase(world, check.name, [&] { check.run(world); });
    }
  } else if (scenario == "failures") {
    agreements_on_failures(world);
    return 4;
  } else if (scenario == "differ") {
    phases_that_differ_are_named(world);
    return 8;
  } else if (scenario == "fail") {
    alarm_wakes_waiting_ranks(world, rank);
    return 4;
  } else if (scenario == "silent" || scenario == "stopped") {
    silence_is_a_timeout(world, rank, 1.5, [&] {
      if (scenario == "stopped") raise(SIGSTOP);
      sleep_seconds(60);
    });
    return 7;
  } else if (scenario == "killed") {
    world.broadcast({});
    if (chosen) raise(SIGKILL);
    world.gather({});
    world.all_gather(nullptr, nullptr, 0);
  } else if (scenario == "drift") {
    in_phase(world, "report", [&] {
      if (world.rank() != 0) return;
      sleep_seconds(1);
      std::printf("the report is written\n");
    });
    return 1;
  } else if (scenario == "orphan") {
    std::printf("pid %d\n", getpid());
    std::fflush(stdout);
    if (world.rank() == 0) sleep_seconds(60);
    world.broadcast({});
  } else if (scenario == "parting") {
    return 0;
  } else if (scenario == "speed") {
    speed(world);
  } else {
    throw Error(Fault::usage, "no such scenario: " + scenario);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (!MpiSession::launched()) {
    std::fprintf(stderr, "run this by mpirun\n");
    return 2;
  }
  MpiSession session(&argc, &argv, 60);
  const std::string scenario = argc > 1 ? argv[1] : "healthy";
  const int rank = argc > 2 ? std::atoi(argv[2]) : 0;
  const auto world = session.world();
  try {
    const int code = session.leave(run(*world, scenario, rank));
    if (scenario == "parting") raise(SIGTERM);  // as mpirun would send it
    return code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", session.rank(), error.what());
    session.abort(99);  // a check that failed is no exit status of the product
  }
}
