// `run`: a world of ranks or of one, the audit in it, and the way out.

#include "audit/audit.hpp"
#include "base/error.hpp"
#include "comm/mpi/mpi_session.hpp"
#include "comm/solo.hpp"
#include "drift-audit/commands.hpp"
#include "drift-audit/wiring.hpp"

namespace drift {
namespace {

int dry_run(const Config& config, const Console& console) {
  const DumpFile dump = DumpFile::open(config.dump);
  console.say(dry_run_text(resolve(config, dump, assumed_backend(config))));
  return 0;
}

/// A usage error leaves no report, so nobody else has said it.
void explain(const Outcome& outcome, const Console& console) {
  if (outcome.error) console.error(outcome.error->message);
}

int run_alone(const Config& config, const Process& process, Console& console) {
  check_world(config, 1, process.launcher);
  const auto world = make_solo_control();
  const Outcome outcome = audit(config, *world, make_machinery(config, process, console));
  explain(outcome, console);
  console.flush_table();
  return outcome.exit_code;
}

int run_launched(const Config& config, const Process& process, Console& console) {
  MpiSession session(nullptr, nullptr, config.collective_timeout);
  console.set_speaks(session.rank() == 0);  // MPI knows better than a variable that may have been inherited
  try {
    check_world(config, session.size(), process.launcher);
  } catch (const Error& error) {
    console.error(error.what());
    return session.leave(error.exit_code());
  }
  Outcome outcome;
  {
    const auto world = session.world();
    outcome = audit(config, *world, make_machinery(config, process, console));
  }
  explain(outcome, console);
  console.flush_table();
  if (outcome.peers_lost) session.abort(outcome.exit_code);
  return session.leave(outcome.exit_code);
}

}  // namespace

int run(const RunRequest& request, const Process& process, Console& console) {
  console.set_verbose(request.config.verbose);
  if (request.config.dry_run) return dry_run(request.config, console);
  return process.launched ? run_launched(request.config, process, console)
                          : run_alone(request.config, process, console);
}

}  // namespace drift
