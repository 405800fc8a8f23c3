#include "comm/mpi/parting.hpp"

#include <signal.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>

namespace drift {
namespace {

constexpr std::int64_t longest = 1500;  // milliseconds
constexpr std::int64_t grid = 1000;     // of common moments
constexpr std::int64_t at_least = 200;  // until one: the others may have started a little later

}  // namespace

void outlive_the_launchers_signal() noexcept { signal(SIGTERM, SIG_IGN); }

std::int64_t wall_clock() noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

std::int64_t common_moment() noexcept { return (wall_clock() + at_least + grid - 1) / grid * grid; }

void end_at(std::int64_t moment, int code) noexcept {
  const std::int64_t then = std::min(moment, wall_clock() + longest);
  const timespec until{.tv_sec = then / 1000, .tv_nsec = then % 1000 * 1'000'000};
  while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
  std::_Exit(code);
}

}  // namespace drift
