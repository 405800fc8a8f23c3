#include "report/environment_json.hpp"

namespace drift {
namespace {

Json object(const std::map<std::string, std::string>& texts) {
  Json out = Json::object();
  for (const auto& [key, text] : texts) out[key] = text;
  return out;
}

}  // namespace

Json environment_json(const Environment& environment) {
  return {{"versions", object(environment.versions)},
          {"gpu_models", environment.gpu_models},
          {"variables", object(environment.variables)},
          {"differing_ranks", environment.differing_ranks}};
}

}  // namespace drift
