#include "cases/valid_reports.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "report/schema_check.hpp"
#include "support/run_command.hpp"

namespace drift::test {

std::string invalid_reports(const std::string& folder) {
  std::string out;
  std::error_code unseen;
  for (const auto& file : std::filesystem::directory_iterator(folder, unseen)) {
    const std::string name = file.path().filename().string();
    if (!name.ends_with(".json")) continue;
    const std::string schema = name.starts_with("rank-") ? "rank" : name.substr(0, name.size() - 5);
    const std::string errors = schema_errors(schema, file_text(file.path().string()));
    if (!errors.empty()) out.append(name).append(": ").append(errors);
  }
  return out;
}

}  // namespace drift::test
