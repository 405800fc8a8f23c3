#include "drift-audit/process.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <optional>
#include <set>

#include "comm/mpi/mpi_session.hpp"

namespace drift {
namespace {

std::optional<std::string> variable(const std::vector<std::string>& environment, const std::string& name) {
  for (const std::string& entry : environment)
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  return std::nullopt;
}

std::optional<std::int64_t> number(const std::optional<std::string>& text) {
  std::int64_t value = 0;
  if (!text) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  return error == std::errc{} ? std::optional(value) : std::nullopt;
}

int rank_of(const std::vector<std::string>& environment) {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    if (const auto rank = number(variable(environment, name))) return static_cast<int>(*rank);
  return 0;
}

Launcher launcher_of(const Process& process) {
  const auto is_one = [&](const char* name) { return variable(process.environment, name) == "1"; };
  Launcher out;
  if (!process.argv.empty()) out.program = process.argv.front();
  out.root =
      geteuid() == 0 && !(is_one("OMPI_ALLOW_RUN_AS_ROOT") && is_one("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"));
  // Inside a job the affinity is one rank's, and mpirun exports its own --oversubscribe as if the user had
  // set it.
  if (process.launched) {
    out.slots = number(variable(process.environment, "OMPI_UNIVERSE_SIZE")).value_or(1);
  } else {
    out.slots = usable_cores();
    out.oversubscribe_set = is_one("OMPI_MCA_rmaps_base_oversubscribe");
  }
  return out;
}

}  // namespace

std::int64_t usable_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  std::set<std::string> cores;  // mpirun counts cores, not hardware threads
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    std::string siblings;
    std::ifstream("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list") >>
        siblings;
    cores.insert(siblings.empty() ? "cpu" + std::to_string(cpu) : siblings);
  }
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(cores.size()));
}

void prepare_streams() {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  // A write to what stands in for stdout fails, as it would have on the closed one.
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0) static_cast<void>(::open("/dev/null", O_RDONLY));
}

Process this_process(int argc, char** argv, char** environment) {
  Process out;
  out.argv.assign(argv, argv + argc);
  for (char** entry = environment; *entry != nullptr; ++entry) out.environment.emplace_back(*entry);
  out.launched = MpiSession::launched();
  out.rank = out.launched ? rank_of(out.environment) : 0;
  out.launcher = launcher_of(out);
  return out;
}

}  // namespace drift
