#pragma once

// How the story of a run is told: phase by phase, all ranks together, to its end or to the report of its
// failure.

#include "audit/audit_run.hpp"
#include "comm/agree.hpp"

namespace drift {

/// Ends a phase on all ranks together, and notes how long it took.
class Phases {
 public:
  Phases(AuditRun& run, Control& world) : run_(run), world_(world) {}

  template <class Step>
  void operator()(const char* name, Step step) const {
    in_phase(world_, name, [&] { step(); });
    run_.lap(name);
  }

 private:
  AuditRun& run_;
  Control& world_;
};

/// `tell(run, phase)` goes through the phases.
template <class Run, class Tell>
Outcome told(Run& run, Control& world, Tell tell) {
  try {
    tell(run, Phases(run, world));
    return run.outcome();
  } catch (const AgreedError& error) {
    return run.fail(error);
  }
}

}  // namespace drift
