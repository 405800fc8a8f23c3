#pragma once

// From the words of a command line to a request. Nothing is opened, started or printed here.

#include <string>
#include <variant>
#include <vector>

#include "audit/config.hpp"
#include "audit/plan_text.hpp"
#include "dump/generate.hpp"

namespace drift {

struct RunRequest {
  Config config;
};
struct ExplainRequest {
  Config config;
};
struct PlanRequest {
  Config config;  ///< without tp and cp
  PlanDegrees degrees;
};
struct CompareRequest {
  std::string old_path, new_path;
};
struct InspectRequest {
  Config config;
};
struct GenerateCommand {
  std::string path;
  GenerateRequest what;
  bool force = false;  ///< replace a file of that name
};
struct FormulasRequest {};
struct MetricsRequest {};
struct SchemaRequest {
  std::string name;
};
/// --help and --version.
struct TextRequest {
  std::string text;
};

using Request = std::variant<TextRequest, RunRequest, ExplainRequest, PlanRequest, CompareRequest,
                             InspectRequest, GenerateCommand, FormulasRequest, MetricsRequest, SchemaRequest>;

/// `arguments` without the program's name. Throws Fault::usage saying which word is wrong and what is wanted.
Request parse_command_line(const std::vector<std::string>& arguments);

}  // namespace drift
