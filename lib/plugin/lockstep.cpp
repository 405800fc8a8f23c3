#include "plugin/lockstep.hpp"

#include <utility>
#include <vector>

#include "base/error.hpp"

namespace drift {
namespace {

constexpr std::int64_t step_bytes = sizeof(Step);

std::string words(const Step& step) {
  if (step.kind == StepKind::end) return "the end of its call";
  return name(step.kind) + std::string(" of ") + std::to_string(step.size) +
         (step.kind == StepKind::all_gather ? " bytes" : " values");
}

}  // namespace

const char* name(StepKind kind) {
  switch (kind) {
    case StepKind::all_gather: return "all_gather";
    case StepKind::all_reduce_max: return "all_reduce_max";
    case StepKind::all_reduce_sum: return "all_reduce_sum";
    default: return "end";
  }
}

Lockstep::Lockstep(std::string subject, Backend& on, Collective& tp, Watchdog& watchdog)
    : subject_(std::move(subject)), on_(on), tp_(tp), watchdog_(watchdog) {
  if (tp_.size() == 1) return;
  mine_ = on_.allocate(step_bytes);
  all_ = on_.allocate(step_bytes * tp_.size());
}

void Lockstep::meet(Step mine) {
  if (tp_.size() == 1) return;
  ++steps_;
  on_.upload(&mine, mine_.data(), step_bytes);  // waits for what the plug-in has queued: still its own time
  const Watchdog::Pause ours(watchdog_);
  tp_.all_gather(mine_.data(), all_.data(), step_bytes);
  std::vector<Step> seen(static_cast<std::size_t>(tp_.size()));
  on_.download(all_.data(), seen.data(), step_bytes * tp_.size());
  for (std::size_t rank = 1; rank < seen.size(); ++rank)
    require(seen[rank].kind == seen[0].kind && seen[rank].size == seen[0].size, Fault::comm,
            subject_ +
                " does not call the same collectives on all TP ranks (one would wait for ever, or mix " +
                "what does not belong together), seen as step " + std::to_string(steps_) + " of its call " +
                words(seen[0]) + " on TP rank 0 and " + words(seen[rank]) + " on TP rank " +
                std::to_string(rank) + ", wanted the same on all");
}

}  // namespace drift
