#pragma once

// The callbacks that a kernel gets: collectives of the run's transport and scratch memory, behind C functions
// that never throw.

#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "backend/backend.hpp"
#include "comm/collective.hpp"
#include "plugin/crash_guard.hpp"
#include "plugin/drift_plugin.h"
#include "plugin/lockstep.hpp"
#include "plugin/watchdog.hpp"

namespace drift {

/// Lives for one call. The first failure is kept, with the plug-in's name in its message; everything after it
/// is refused, so that ranks fall out of step once only.
class PluginGroup {
 public:
  /// `subject`: "plug-in NAME".
  PluginGroup(const std::string& subject, Backend& on, Collective& tp, FloatModes& modes, Watchdog& watchdog)
      : subject_(subject),
        on_(on),
        tp_(tp),
        modes_(modes),
        watchdog_(watchdog),
        lockstep_(subject, on, tp, watchdog),
        caller_(std::this_thread::get_id()) {}

  /// Sets `group` and the callbacks.
  void fill(drift_plugin_call& call);
  /// Throws what the first failed callback met.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }
  /// The call has ended well: collective over the TP group, throws Fault::comm unless it has on all ranks.
  void finish() { lockstep_.meet({StepKind::end, 0}); }

 private:
  static int all_gather(void* group, const void* mine, void* all, std::int64_t bytes);
  static int all_reduce_max(void* group, float* values, std::int64_t count);
  static int all_reduce_sum(void* group, float* values, std::int64_t count);
  static void* allocate(void* group, std::int64_t bytes);

  bool attempt(const char* what, bool is_sane, const std::function<void()>& action);
  int collective(Step step, bool is_sane, const std::function<void()>& action);
  int reduce(float* values, std::int64_t count, StepKind kind, Reduce op);
  Buffer scratch(std::int64_t bytes);

  std::string subject_;
  Backend& on_;
  Collective& tp_;
  FloatModes& modes_;
  Watchdog& watchdog_;
  Lockstep lockstep_;
  std::thread::id caller_;
  std::vector<Buffer> scratch_;
  std::exception_ptr failure_;
};

}  // namespace drift
