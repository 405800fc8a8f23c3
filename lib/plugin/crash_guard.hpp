#pragma once

// Runs code that is not ours so that what it does to the process becomes an error with its name: signals,
// exceptions, exit(), and changed floating-point modes.

#include <cfenv>
#include <functional>
#include <string>

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

/// Run `body` on this thread. "" if it ended well, else what became of it: "crashed with SIGSEGV (...)",
/// "threw ...".
///
/// SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT of this thread jump out of `body`, whatever it was in the
/// middle of: frames are left without destructors, locks stay locked, the heap may be damaged. The caller
/// reports and ends the run. Such a signal in another thread goes to the handlers that were there before,
/// after a line on stderr that names `who`. exit() within `body` says so on stderr and ends the process with
/// status 5, before the handlers of atexit that were registered earlier. Handlers are put back when the last
/// guarded body of the process ends. `who` must outlive the call. `body` must not throw what may not be lost:
/// it comes back as text.
std::string call_guarded(const char* who, FloatModes& modes, const std::function<void()>& body);

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
