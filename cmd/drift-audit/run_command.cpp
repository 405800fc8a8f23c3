// `run` and `explain`: a world of ranks or of one, what is done in it, and the way out.

#include "audit/audit.hpp"
#include "audit/explain_run.hpp"
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

using Work = Outcome (*)(const Config&, Control&, const Machinery&);

/// Without a topology the ranks of `explain` share the rows out.
Config with_topology(Config config, Work work, std::int64_t world) {
  if (work != explain_dump || config.typed.contains("tp") || config.typed.contains("cp") || world == 1)
    return config;
  config.cp = world;
  return config;
}

/// A usage error leaves no report, so nobody else has said it.
void say_error(const Outcome& outcome, const Console& console) {
  if (outcome.error) console.error(outcome.error->message);
}

int work_alone(Work work, const Config& config, const Process& process, Console& console) {
  check_world(config, 1, process.launcher);
  const auto world = make_solo_control();
  const Outcome outcome = work(config, *world, make_machinery(config, process, console));
  say_error(outcome, console);
  console.flush_table();
  return outcome.exit_code;
}

int work_launched(Work work, const Config& typed, const Process& process, Console& console) {
  MpiSession session(nullptr, nullptr, typed.collective_timeout);
  const Config config = with_topology(typed, work, session.size());
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
    outcome = work(config, *world, make_machinery(config, process, console));
  }
  say_error(outcome, console);
  console.flush_table();
  if (outcome.peers_lost) session.abort(outcome.exit_code);
  return session.leave(outcome.exit_code);
}

int work_in_world(Work work, const Config& config, const Process& process, Console& console) {
  console.set_verbose(config.verbose);
  return process.launched ? work_launched(work, config, process, console)
                          : work_alone(work, config, process, console);
}

}  // namespace

int run(const RunRequest& request, const Process& process, Console& console) {
  if (request.config.dry_run) return dry_run(request.config, console);
  return work_in_world(audit, request.config, process, console);
}

int explain(const ExplainRequest& request, const Process& process, Console& console) {
  return work_in_world(explain_dump, request.config, process, console);
}

}  // namespace drift
