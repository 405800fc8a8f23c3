#include "drift-audit/wiring.hpp"

#include <unistd.h>

#include <array>
#include <ctime>

#include "audit/launch.hpp"
#include "audit/options.hpp"
#include "backend/devices.hpp"
#include "comm/mpi/mpi_session.hpp"

namespace drift {
namespace {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  return std::string(text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts));
}

std::string host_name() {
  std::array<char, 256> text{};
  return gethostname(text.data(), text.size() - 1) == 0 ? text.data() : "unknown";
}

}  // namespace

Machinery make_machinery(const Config& config, const Process& process, const Console& console) {
  Machinery out;
  out.gpu_count = [] { return static_cast<int>(visible_gpus().size()); };
  out.why_no_gpu = why_no_gpu;
  out.make_cuda = make_cuda_backend;
  out.nccl_built = nccl_built();
  out.make_nccl = [timeout = config.collective_timeout](Backend& on, Control& tp) {
    return make_nccl_collective(on, tp, timeout);
  };
  out.environment = process.environment;
  out.versions = {{"mpi", MpiSession::library_version()}, {"nccl", nccl_version()}};
  out.program = process.launcher.program;
  out.argv = process.argv;
  out.launcher_flags = launcher_flags(process.launcher, config.tp * config.cp);
  out.host = host_name();
  out.now = utc_now;
  out.say = [&console](const std::string& line) { console.say(line); };
  out.progress = [&console](const std::string& line) { console.progress(line); };
  out.warn = [&console](const std::string& line) { console.warn(line); };
  out.alert = [](const std::string& line) { Console(true).error(line); };
  return out;
}

}  // namespace drift
