#pragma once

// TP ranks of a plug-in are told apart before they exchange anything: a rank that leaves a collective out, or
// asks for another one, would make the others wait, or add up what does not belong together.

#include <cstdint>
#include <string>

#include "backend/backend.hpp"
#include "comm/collective.hpp"
#include "plugin/watchdog.hpp"

namespace drift {

/// What a rank of a plug-in does next.
enum class StepKind : std::int64_t { all_gather, all_reduce_max, all_reduce_sum, end };
struct Step {
  StepKind kind;
  std::int64_t size;  ///< bytes to gather, or values to reduce
};
/// "all_gather", ..., "end".
const char* name(StepKind kind);

/// Lives for one call. Costs an all-gather of 16 bytes a rank and step; nothing without peers.
class Lockstep {
 public:
  Lockstep(std::string subject, Backend& on, Collective& tp, Watchdog& watchdog);

  /// Collective over the TP group. Throws Fault::comm with both steps, the same on every rank, unless all
  /// ranks are about to do the same one; and what the transport throws.
  void meet(Step mine);

 private:
  std::string subject_;  ///< "plug-in NAME"
  Backend& on_;
  Collective& tp_;
  Watchdog& watchdog_;
  Buffer mine_, all_;
  std::int64_t steps_ = 0;
};

}  // namespace drift
