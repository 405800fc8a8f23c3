#pragma once

// A deadline for code that is not ours: a kernel that never returns shall not hang a run.

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <string>
#include <thread>

namespace drift {

/// Watches, from a thread of its own, that foreign code gives the thread that made this object back. Time
/// counts from construction, `restart`, or the end of the last Pause.
class Watchdog {
 public:
  /// What happens once the deadline has passed.
  enum class Late {
    jump,  ///< the watched thread gets `nudge`, whose handler leaves the call (crash_guard.hpp)
    end    ///< the process ends with status 7 after a line on stderr
  };
  /// What a jump cannot leave ends as with `end` after so long: a thread that blocks signals, say.
  static constexpr std::chrono::seconds grace{5};
  /// Ignored by default, so that one which arrives late does no harm.
  static constexpr int nudge = SIGURG;

  /// `who`: "plug-in NAME". `seconds` > 0. Throws Fault::device if the system gives no thread.
  Watchdog(const std::string& who, double seconds, Late late);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// For the handler of `nudge`: whether the deadline has passed.
  bool is_late() const noexcept { return is_late_.load(); }
  double seconds() const noexcept { return seconds_; }

  /// A sign of life: the clock starts anew.
  void restart() { set_paused(false); }
  /// The clock stands still while this lives, and then starts anew: waiting for peers has its own deadline.
  class Pause {
   public:
    explicit Pause(Watchdog& of) : of_(of) { of_.set_paused(true); }
    ~Pause() { of_.set_paused(false); }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    Watchdog& of_;
  };

 private:
  using Clock = std::chrono::steady_clock;

  void set_paused(bool is_paused);
  void watch();
  [[noreturn]] void end_process() const noexcept;  // with last_line_

  double seconds_;
  std::string last_line_;  ///< of a process that ends: by then the heap may be locked
  Clock::duration limit_;
  Late late_;
  pthread_t caller_;
  std::atomic<bool> is_late_{false};
  static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler reads it");

  std::mutex mutex_;  // over what follows
  std::condition_variable ended_;
  Clock::time_point since_;
  bool is_paused_ = false, has_ended_ = false;
  std::thread thread_;
};

/// Seconds as people write them: "600", "0.5".
std::string seconds_text(double seconds);

}  // namespace drift
