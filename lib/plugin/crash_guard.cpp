#include "plugin/crash_guard.hpp"

#include <array>
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <vector>

#include <unistd.h>

#include "base/error.hpp"
#include "base/printable.hpp"

namespace drift {
namespace {

constexpr std::array<int, 6> caught{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, Watchdog::nudge};
constexpr std::size_t signal_stack_bytes = std::size_t{64}
                                           << 10;  // a handler's frame with AVX-512 state is 3 KiB

struct Guard {
  const Watchdog& watchdog;
  sigjmp_buf jump = {};
};

// Signal handlers are process-wide and get no argument: what they know has to be found without one.
thread_local Guard* current_guard = nullptr;           // this thread is in a guarded body
std::atomic<const char*> who_runs{nullptr};            // of the body that began last, while any runs
std::array<struct sigaction, caught.size()> previous;  // before the first guarded body
std::mutex handlers_mutex;                             // over `previous` and `bodies`
int bodies = 0;                                        // guarded bodies that run now: ranks may be threads

void say(const char* text) noexcept { static_cast<void>(!::write(STDERR_FILENO, text, std::strlen(text))); }

const char* signal_name(int signal) {
  switch (signal) {
    case SIGSEGV: return "SIGSEGV (it used memory that is not there)";
    case SIGBUS: return "SIGBUS (it used memory that cannot be read)";
    case SIGFPE: return "SIGFPE (an integer division by zero, or a floating-point trap)";
    case SIGILL: return "SIGILL (an instruction this CPU does not have)";
    default: return "SIGABRT (it called abort, or a check of the C library failed)";
  }
}

void put_back(int signal) noexcept {
  for (std::size_t i = 0; i < caught.size(); ++i)
    if (caught[i] == signal) static_cast<void>(::sigaction(signal, &previous[i], nullptr));
}

// Only what is safe in a handler: no allocation, no locks.
void on_signal(int signal, siginfo_t* info, void*) {
  if (signal == Watchdog::nudge) {
    Guard* guard = current_guard;  // none: it came late, or our own code runs
    if (guard == nullptr || !guard->watchdog.is_late()) return;
    current_guard = nullptr;
    ::siglongjmp(guard->jump, signal);
  }
  const bool was_sent =
      info->si_code <= 0;  // by raise, abort or kill; else this thread's own instruction did it
  if (Guard* guard = current_guard; guard != nullptr && (!was_sent || info->si_pid == ::getpid())) {
    current_guard = nullptr;
    ::siglongjmp(guard->jump, signal);
  }
  const char* who = who_runs.load();
  say("drift-audit: ");
  say(signal_name(signal));
  say(" outside the audit's own thread while plug-in ");
  say(who != nullptr ? who : "(none)");
  say(" was running; this rank ends\n");
  put_back(signal);
  if (was_sent)
    static_cast<void>(
        ::raise(signal));  // comes when this handler returns; a faulty instruction comes by itself
}

void on_exit() {
  const char* who = who_runs.load();
  if (who == nullptr) return;
  // One write: ranks that share a terminal all say it at once.
  const std::string line = "drift-audit: plug-in " + std::string(who) +
                           " called exit() (a kernel must return an error instead); this rank ends with " +
                           "status 5, without a report\n";
  say(line.c_str());
  ::_exit(static_cast<int>(Fault::device));
}

/// The process's handlers while any guarded body runs.
class Handlers {
 public:
  explicit Handlers(const char* who) {
    static const int registered = std::atexit(on_exit);
    static_cast<void>(registered);
    const std::lock_guard lock(handlers_mutex);
    who_runs = who;
    if (bodies++ > 0) return;
    struct sigaction action = {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;  // a nudge may come late
    ::sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < caught.size(); ++i)
      static_cast<void>(::sigaction(caught[i], &action, &previous[i]));
  }
  ~Handlers() {
    const std::lock_guard lock(handlers_mutex);
    if (--bodies > 0) return;
    who_runs = nullptr;
    for (const int signal : caught) put_back(signal);
  }
  Handlers(const Handlers&) = delete;
  Handlers& operator=(const Handlers&) = delete;
};

/// A stack of this thread for handlers: an overflown stack cannot run them.
class SignalStack {
 public:
  SignalStack() : memory_(signal_stack_bytes) {
    stack_t mine = {};
    mine.ss_sp = memory_.data();
    mine.ss_size = memory_.size();
    is_set_ = ::sigaltstack(&mine, &previous_) == 0;
  }
  ~SignalStack() {
    if (is_set_) static_cast<void>(::sigaltstack(&previous_, nullptr));
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  std::vector<std::byte> memory_;
  stack_t previous_ = {};
  bool is_set_ = false;
};

/// Leaves in `threw` what the body threw; "" if nothing.
[[gnu::noinline]] void run_catching(const std::function<void()>& body, std::string& threw) {
  try {
    body();
  } catch (const std::exception& error) {
    current_guard = nullptr;  // it has returned: from here on code is ours
    threw = "threw an exception: " + escaped(error.what(), 400);
  } catch (...) {
    current_guard = nullptr;
    threw = "threw something that is no std::exception";
  }
}

/// The signal that ended the body; 0 if none did. A frame of its own, with nothing in it that a jump would
/// skip or lose.
[[gnu::noinline]] int run_jumping(Guard& guard, const std::function<void()>& body, std::string& threw) {
  if (const int signal = sigsetjmp(guard.jump, 1); signal != 0) return signal;
  current_guard = &guard;
  run_catching(body, threw);
  current_guard = nullptr;
  return 0;
}

}  // namespace

Ending call_guarded(const char* who, FloatModes& modes, const Watchdog& watchdog,
                    const std::function<void()>& body) {
  require(current_guard == nullptr, Fault::internal, "guarded calls do not nest");
  const SignalStack stack;
  const Handlers handlers(who);
  Guard guard{.watchdog = watchdog};
  std::string threw;
  modes.enter();
  const int signal = run_jumping(guard, body, threw);
  modes.leave();
  if (signal == Watchdog::nudge)
    return {"has not returned for " + seconds_text(watchdog.seconds()) + " s (it is stuck, or far too slow)",
            Fault::timeout};
  return {signal != 0 ? "crashed with " + std::string(signal_name(signal)) : threw};
}

GuardPause::GuardPause(FloatModes& modes) : modes_(modes), guard_(current_guard) {
  current_guard = nullptr;
  modes_.leave();
}

GuardPause::~GuardPause() {
  modes_.enter();
  current_guard = static_cast<Guard*>(guard_);
}

}  // namespace drift
