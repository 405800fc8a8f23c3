// The story of a run, top to bottom. Each line of `tell` is a phase: all ranks end it together or fail
// together. A dump without logits has a shorter one: what was recorded is compared with itself.

#include "audit/audit.hpp"

#include "audit/story.hpp"

namespace drift {
namespace {

void tell(AuditRun& run, const Phases& phase) {
  phase("backend", [&] { run.choose_hardware(); });
  phase("open", [&] { run.open_dump(); });
  phase("device", [&] { run.take_device(); });
  phase("contract", [&] { run.compare_contract(); });
  phase("output", [&] { run.prepare_folder(); });
  phase("connect", [&] { run.connect_ranks(); });
  phase("load", [&] { run.load_inputs(); });
  if (run.has_logits()) {
    phase("kept_sets", [&] { run.find_kept_sets(); });
    phase("candidates", [&] { run.compute_candidates(); });
    phase("oracle", [&] { run.compute_oracle(); });
  }
  phase("gather", [&] { run.gather(); });
  phase("compare", [&] { run.compare(); });
  phase("report", [&] { run.write_reports(); });
}

}  // namespace

Outcome audit(const Config& config, Control& world, const Machinery& machinery) {
  AuditRun run(config, world, machinery);
  return told(run, world, tell);
}

}  // namespace drift
