#pragma once

// Runs code that is not ours so that what it does to the process becomes an error with its name: signals,
// exceptions, exit(), calls that never return, and changed floating-point modes.

#include <cfenv>
#include <functional>
#include <string>

#include "base/error.hpp"
#include "plugin/watchdog.hpp"

namespace drift {

/// The floating-point environment that a plug-in computes in. A library built with -ffast-math switches to
/// flushing subnormals when it is loaded; that is right for its own numbers, as in its own process, and wrong
/// for ours.
class FloatModes {
 public:
  FloatModes() { std::fegetenv(&environment_); }
  void enter() {
    std::fegetenv(&ours_);
    std::fesetenv(&environment_);
  }
  void leave() {
    std::fegetenv(&environment_);
    std::fesetenv(&ours_);
  }

 private:
  std::fenv_t environment_{};
  std::fenv_t ours_{};
};

/// What became of a guarded body.
struct Ending {
  std::string text;  ///< "" if it ended well, else "crashed with SIGSEGV (...)", "threw ...", "has not ..."
  Fault fault = Fault::device;  ///< Fault::timeout for the deadline
  bool is_well() const { return text.empty(); }
};

/// Run `body` on this thread.
///
/// SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT of this thread, and the watchdog's nudge, jump out of `body`,
/// whatever it was in the middle of: frames are left without destructors, locks stay locked, the heap may be
/// damaged. The caller reports and ends the run. Such a signal in another thread goes to the handlers that
/// were there before, after a line on stderr that names `who`. exit() within `body` says so on stderr and
/// ends the process with status 5, before the handlers of atexit that were registered earlier: it cannot be
/// left by a jump, which is undefined from such a handler, and by then thread_local objects are gone.
/// Handlers are put back when the last guarded body of the process ends. `who` must outlive the call. `body`
/// must not throw what may not be lost: it comes back as text.
Ending call_guarded(const char* who, FloatModes& modes, const Watchdog& watchdog,
                    const std::function<void()>& body);

/// Inside a guarded body: our own code runs unguarded and in our own floating-point modes while this lives.
class GuardPause {
 public:
  explicit GuardPause(FloatModes& modes);
  ~GuardPause();
  GuardPause(const GuardPause&) = delete;
  GuardPause& operator=(const GuardPause&) = delete;

 private:
  FloatModes& modes_;
  void* guard_;
};

}  // namespace drift
