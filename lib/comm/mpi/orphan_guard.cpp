// The kernel can signal a process when its parent dies, but what it calls the parent is the thread that
// forked. Launchers fork from helper threads and end these early. So the signal only asks the question, and
// its handler looks for the answer.

#include "comm/mpi/orphan_guard.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>

namespace drift {
namespace {

std::atomic<pid_t> launcher{0};  // a handler has no other way to know; set once
static_assert(std::atomic<pid_t>::is_always_lock_free);

void ask(int) {
  if (getppid() != launcher.load()) kill(getpid(), SIGKILL);
}

}  // namespace

void die_with_launcher() noexcept {
  launcher = getppid();
  struct sigaction action {};
  action.sa_handler = ask;
  action.sa_flags = SA_RESTART;
  // SIGURG: ignored by default and free here, should the question ever arrive without its handler.
  if (sigaction(SIGURG, &action, nullptr) != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGURG);
  ask(0);  // it may have died before
}

}  // namespace drift
