#include "plugin/watchdog.hpp"

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <sstream>
#include <system_error>

#include "base/error.hpp"

namespace drift {
namespace {

constexpr std::chrono::milliseconds between_nudges{100};  // one is lost if it comes while our own code runs

/// Threads inherit what is blocked: signals for the process are for its other threads to take.
std::thread start_without_signals(const std::function<void()>& body) {
  sigset_t all, before;
  sigfillset(&all);
  static_cast<void>(::pthread_sigmask(SIG_SETMASK, &all, &before));
  std::thread out;
  std::string failure;
  try {
    out = std::thread(body);
  } catch (const std::system_error& error) {
    failure = error.what();
  }
  static_cast<void>(::pthread_sigmask(SIG_SETMASK, &before, nullptr));
  require(failure.empty(), Fault::device, "the system gives no thread to watch its deadline: " + failure);
  return out;
}

}  // namespace

std::string seconds_text(double seconds) {
  std::ostringstream out;
  out << seconds;
  return out.str();
}

Watchdog::Watchdog(const std::string& who, double seconds, Late late)
    : seconds_(std::clamp(seconds, 1e-3, 1e9)),  // more would not fit the clock's nanoseconds
      last_line_("drift-audit: " + who + " has not returned for " + seconds_text(seconds_) +
                 " s and cannot be interrupted; this rank ends with status 7, without a report\n"),
      limit_(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds_))),
      late_(late),
      caller_(::pthread_self()),
      since_(Clock::now()),
      thread_(start_without_signals([this] { watch(); })) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
  }
  ended_.notify_one();
  thread_.join();
}

void Watchdog::set_paused(bool is_paused) {
  const std::lock_guard lock(mutex_);
  is_paused_ = is_paused;
  is_late_ = false;
  since_ = Clock::now();
}

void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  while (!has_ended_) {
    const Clock::time_point now = Clock::now();
    // A pause that ends later starts the clock later: nobody has to wake this thread for it.
    const Clock::time_point deadline = (is_paused_ ? now : since_) + limit_;
    if (now < deadline) {
      ended_.wait_until(lock, deadline);
      continue;
    }
    if (late_ == Late::end || now >= deadline + grace) end_process();
    is_late_ = true;
    static_cast<void>(::pthread_kill(caller_, nudge));
    ended_.wait_for(lock, between_nudges);
  }
}

void Watchdog::end_process() const noexcept {
  static_cast<void>(!::write(STDERR_FILENO, last_line_.data(), last_line_.size()));
  ::_exit(static_cast<int>(Fault::timeout));
}

}  // namespace drift
