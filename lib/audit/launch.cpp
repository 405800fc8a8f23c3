#include "audit/launch.hpp"

#include "audit/options.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"
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
  const std::vector<std::string> words = to_arguments(config, Which::all);
  for (const std::string& word : words)
    require(!has_control_characters(word), Fault::usage,
            "no command line can be printed for '" + escaped(word) +
                "' (it holds a control character, and would not stay one line); wanted another name");
  return reproduce(static_cast<int>(world), launcher.program, words, Environment{},
                   launcher_flags(launcher, world));
}

void check_world(const Config& config, std::int64_t world, const Launcher& launcher) {
  const std::int64_t wanted = config.tp * config.cp;
  if (world == wanted) return;
  std::string message = "started with " + std::to_string(world) + (world == 1 ? " rank" : " ranks") +
                        ", but --tp " + std::to_string(config.tp) + " x --cp " + std::to_string(config.cp) +
                        " wants " + std::to_string(wanted) + ": ";
  try {
    message += launch_line(config, launcher);
  } catch (const Error& unprintable) {
    message += unprintable.what();
  }
  throw Error(Fault::usage, message);
}

}  // namespace drift
