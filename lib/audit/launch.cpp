#include "audit/launch.hpp"

#include "audit/options.hpp"
#include "base/error.hpp"
#include "report/reproduce.hpp"

namespace drift {

std::vector<std::string> launcher_flags(const Launcher& launcher, std::int64_t world) {
  std::vector<std::string> out;
  if (launcher.root) out.emplace_back("--allow-run-as-root");
  if (world > launcher.slots && !launcher.oversubscribe_set) out.emplace_back("--oversubscribe");
  return out;
}

std::string launch_line(const Config& config, const Launcher& launcher) {
  const std::int64_t world = config.tp * config.cp;
  return reproduce(static_cast<int>(world), launcher.program, to_arguments(config, Which::all), Environment{},
                   launcher_flags(launcher, world));
}

void check_world(const Config& config, std::int64_t world, const Launcher& launcher) {
  const std::int64_t wanted = config.tp * config.cp;
  require(world == wanted, Fault::usage,
          "started with " + std::to_string(world) + (world == 1 ? " rank" : " ranks") + ", but --tp " +
              std::to_string(config.tp) + " x --cp " + std::to_string(config.cp) + " wants " +
              std::to_string(wanted) + ": " + launch_line(config, launcher));
}

}  // namespace drift
