// Open MPI 4 ends its ranks when mpirun is killed, Open MPI 5 does not: the guard is tested without either.

#include "support/catch.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "comm/mpi/orphan_guard.hpp"

namespace {

/// What a launcher starts: guarded, it says "ready" through the pipe and waits; the pipe closes when it is
/// gone.
void be_a_rank(int to) {
  drift::die_with_launcher();
  const char ready = 'r';
  if (write(to, &ready, 1) != 1) _exit(1);
  alarm(20);  // whatever happens to the test, nothing stays behind
  for (;;) pause();
}

bool closes_within(int pipe_end, int milliseconds) {
  pollfd wait{pipe_end, POLLIN, 0};
  return ::poll(&wait, 1, milliseconds) == 1;
}

/// A launcher in a process of its own, whose rank is forked from a thread that ends soon if `from_thread`.
pid_t launch(int to, bool from_thread) {
  const pid_t launcher = fork();
  if (launcher != 0) return launcher;
  const auto start = [to] {
    if (fork() == 0) be_a_rank(to);
  };
  if (from_thread)
    std::thread([&] {
      start();
      usleep(200'000);  // the rank is guarded by then: the thread's end does signal it
    }).join();
  else
    start();
  close(to);
  sleep(20);
  _exit(0);
}

void check_guard(bool from_thread) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t launcher = launch(ends[1], from_thread);
  close(ends[1]);
  char ready = 0;
  REQUIRE(read(ends[0], &ready, 1) == 1);
  CHECK_FALSE(closes_within(ends[0], 600));  // alive as long as its launcher
  kill(launcher, SIGKILL);
  waitpid(launcher, nullptr, 0);
  CHECK(closes_within(ends[0], 5000));
  close(ends[0]);
}

}  // namespace

TEST_CASE("die_with_launcher: a rank goes when its launcher is killed") { check_guard(false); }

TEST_CASE("die_with_launcher: the end of the launcher's thread that forked is not its launcher's end") {
  check_guard(true);
}
