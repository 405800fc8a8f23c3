#include "plugin/plugin_group.hpp"

#include <limits>

#include "base/error.hpp"
#include "plugin/named_errors.hpp"

namespace drift {
namespace {

constexpr std::int64_t most_bytes = std::numeric_limits<std::int64_t>::max();

PluginGroup& self(void* group) { return *static_cast<PluginGroup*>(group); }

}  // namespace

void PluginGroup::fill(drift_plugin_call& call) {
  call.group = this;
  call.all_gather = all_gather;
  call.all_reduce_max = all_reduce_max;
  call.all_reduce_sum = all_reduce_sum;
  call.allocate = allocate;
}

// A pause of the guard around it: a crash in our own code is not the plug-in's, and a jump out of a
// collective would leave locks behind.
bool PluginGroup::attempt(const char* what, bool is_sane, const std::function<void()>& action) {
  if (std::this_thread::get_id() != caller_)
    return false;  // failure_ is the calling thread's: leave it alone
  const GuardPause ours(modes_);
  watchdog_.restart();
  if (failure_) return false;
  try {
    require(is_sane, Fault::device,
            subject_ + " calls " + what + " with a null pointer or a size that is none");
    name_errors(subject_ + ": in its " + what, action);
    return true;
  } catch (...) {
    failure_ = std::current_exception();
    return false;
  }
}

int PluginGroup::collective(Step step, bool is_sane, const std::function<void()>& action) {
  const bool done = attempt(name(step.kind), is_sane, [&] {
    lockstep_.meet(step);
    const Watchdog::Pause waiting(watchdog_);
    action();
  });
  return done ? 0 : 1;
}

int PluginGroup::all_gather(void* group, const void* mine, void* all, std::int64_t bytes) {
  PluginGroup& me = self(group);
  const bool is_sane = bytes >= 0 && bytes <= most_bytes / me.tp_.size() &&
                       (bytes == 0 || (mine != nullptr && all != nullptr));
  return me.collective({StepKind::all_gather, bytes}, is_sane, [&] { me.tp_.all_gather(mine, all, bytes); });
}

int PluginGroup::reduce(float* values, std::int64_t count, StepKind kind, Reduce op) {
  const bool is_sane =
      count >= 0 && count <= most_bytes / 4 / tp_.size() && (count == 0 || values != nullptr);
  return collective({kind, count}, is_sane, [&] { tp_.all_reduce(values, count, op); });
}

int PluginGroup::all_reduce_max(void* group, float* values, std::int64_t count) {
  return self(group).reduce(values, count, StepKind::all_reduce_max, Reduce::max);
}

int PluginGroup::all_reduce_sum(void* group, float* values, std::int64_t count) {
  return self(group).reduce(values, count, StepKind::all_reduce_sum, Reduce::sum);
}

Buffer PluginGroup::scratch(std::int64_t bytes) {
  try {
    return on_.allocate(bytes > 0 ? bytes : 1);
  } catch (const Error& error) {  // the backend's advice is about the audit's own buffers
    throw Error(error.fault(),
                subject_ + " asks for " + std::to_string(bytes) + " bytes of scratch memory on the " +
                    on_.name() +
                    " backend, more than there is (where it grows with the rows of a call, a smaller " +
                    "--rows-per-chunk needs less)");
  }
}

void* PluginGroup::allocate(void* group, std::int64_t bytes) {
  PluginGroup& me = self(group);
  const bool done = me.attempt("allocate", bytes >= 0, [&] { me.scratch_.push_back(me.scratch(bytes)); });
  return done ? me.scratch_.back().data() : nullptr;
}

}  // namespace drift
