#include "report/environment.hpp"

#include <array>

#include "base/build_info.hpp"
#include "base/digest.hpp"
#include "report/environment_json.hpp"

namespace drift {

bool can_change_numbers(std::string_view variable) {
  constexpr std::array prefixes{"NCCL_", "CUBLAS_", "CUDA_", "VLLM_"};
  constexpr std::array frameworks{"coll", "op", "pml", "btl", "mtl"};
  constexpr std::string_view mca = "OMPI_MCA_";
  if (variable == "OMP_NUM_THREADS") return true;
  if (variable == "CUDA_VISIBLE_DEVICES" || variable.starts_with("CUDA_MPS_")) return false;
  for (const std::string_view prefix : prefixes)
    if (variable.starts_with(prefix)) return true;
  if (!variable.starts_with(mca)) return false;
  variable.remove_prefix(mca.size());
  for (const std::string_view framework : frameworks)
    if (variable == framework || (variable.starts_with(framework) && variable[framework.size()] == '_'))
      return true;
  return false;
}

std::map<std::string, std::string> recorded_variables(std::span<const std::string> process_environment) {
  std::map<std::string, std::string> out;
  for (const std::string& entry : process_environment) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos) continue;
    std::string name = entry.substr(0, equals);
    if (can_change_numbers(name)) out.emplace(std::move(name), entry.substr(equals + 1));
  }
  return out;
}

Environment collect_environment(std::span<const std::string> process_environment,
                                std::span<const std::pair<std::string, std::string>> more_versions) {
  const BuildInfo& build = build_info();
  Environment out;
  out.versions = {{"drift_audit", std::string(build.version)},
                  {"revision", std::string(build.revision)},
                  {"compiler", std::string(build.compiler)},
                  {"cuda", std::string(build.cuda)},
                  {"mpi", std::string(build.mpi)}};
  for (const auto& [name, version] : more_versions)
    if (!version.empty()) out.versions[name] = version;
  out.variables = recorded_variables(process_environment);
  return out;
}

std::string digest_of(const Environment& environment) {
  Environment comparable = environment;
  comparable.differing_ranks.clear();
  return hex(digest(document(environment_json(comparable))));
}

}  // namespace drift
