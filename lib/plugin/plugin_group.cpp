#include "plugin/plugin_group.hpp"

#include <limits>
#include <utility>

#include "base/error.hpp"

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
  if (failure_) return false;
  try {
    require(is_sane, Fault::device,
            "plug-in " + plugin_ + " calls " + what + " with a null pointer or a size that is none");
    action();
    return true;
  } catch (...) {
    failure_ = std::current_exception();
    return false;
  }
}

int PluginGroup::all_gather(void* group, const void* mine, void* all, std::int64_t bytes) {
  PluginGroup& me = self(group);
  const bool is_sane = bytes >= 0 && bytes <= most_bytes / me.tp_.size() &&
                       (bytes == 0 || (mine != nullptr && all != nullptr));
  return me.attempt("all_gather", is_sane, [&] { me.tp_.all_gather(mine, all, bytes); }) ? 0 : 1;
}

int PluginGroup::reduce(float* values, std::int64_t count, Reduce op, const char* what) {
  const bool is_sane =
      count >= 0 && count <= most_bytes / 4 / tp_.size() && (count == 0 || values != nullptr);
  return attempt(what, is_sane, [&] { tp_.all_reduce(values, count, op); }) ? 0 : 1;
}

int PluginGroup::all_reduce_max(void* group, float* values, std::int64_t count) {
  return self(group).reduce(values, count, Reduce::max, "all_reduce_max");
}

int PluginGroup::all_reduce_sum(void* group, float* values, std::int64_t count) {
  return self(group).reduce(values, count, Reduce::sum, "all_reduce_sum");
}

void* PluginGroup::allocate(void* group, std::int64_t bytes) {
  PluginGroup& me = self(group);
  const bool done = me.attempt("allocate", bytes >= 0,
                               [&] { me.scratch_.push_back(me.on_.allocate(bytes > 0 ? bytes : 1)); });
  return done ? me.scratch_.back().data() : nullptr;
}

}  // namespace drift
