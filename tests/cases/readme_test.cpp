// The README's table is what the program prints.

#include "case_run.hpp"

namespace drift {
namespace {

using namespace test;

/// The lines of the README's `nth` ```text block.
std::vector<std::string> shown(int nth) {
  std::vector<std::string> out;
  bool inside = false;
  for (const std::string& line : lines_of(file_text(std::string(DRIFT_SOURCE_DIR) + "/README.md"))) {
    if (inside && line == "```") break;
    if (inside) out.push_back(line);
    if (line == "```text" && --nth == 0) inside = true;
  }
  return out;
}

/// What another machine may print otherwise: versions, hardware, and where the program lies.
bool is_of_the_machine(const std::string& line) {
  for (const char* start : {"# drift-audit", "# ran on", "# oracle", "# reproduce"})
    if (line.rfind(start, 0) == 0) return true;
  return false;
}

/// --backend cpu, which keeps the test the same on every machine, is part of the case id in the folder's
/// name.
std::string without_folder(const std::string& line) { return line.substr(0, line.find("; reports in ")); }

}  // namespace

TEST_CASE("readme: the output it shows is the output of the command it shows", "[readme]") {
  const auto wanted = shown(1);
  REQUIRE(wanted.size() > 10);
  if (skipped_without_mpirun()) return;
  TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("examples"));
  std::filesystem::copy_file(std::string(DRIFT_SOURCE_DIR) + "/examples/rollout-t0.7-cut.safetensors",
                             folder.path("examples/rollout-t0.7-cut.safetensors"));
  const Ran ran =
      drift_audit_on(4, {"run", "examples/rollout-t0.7-cut.safetensors", "--tp", "2", "--cp", "2"},
                     {.directory = folder.path()});
  INFO(ran.all());
  CHECK(ran.exit_code == 0);
  const auto printed = lines_of(ran.out);
  REQUIRE(printed.size() == wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (!is_of_the_machine(wanted[i])) CHECK(without_folder(printed[i]) == without_folder(wanted[i]));
}

TEST_CASE("readme: the explanation it shows is the answer to the commands it shows", "[readme]") {
  const auto wanted = shown(2);
  REQUIRE(wanted.size() == 1);
  TemporaryFolder folder;
  const std::string dump = std::string(DRIFT_SOURCE_DIR) + "/examples/rollout-t0.7-cut.safetensors";
  const How here{.directory = folder.path()};
  const Ran native = drift_audit(
      {"run", dump, "--backend", "cpu", "--temperature-order", "native", "--out", "native"}, here);
  INFO(native.all());
  CHECK(native.exit_code == 1);
  const Ran why = drift_audit(
      {"explain", dump, "--backend", "cpu", "--recorded", "native/tokens.safetensors:fixed-tree_logp", "-q"},
      here);
  INFO(why.all());
  CHECK(why.exit_code == 0);
  CHECK(lines_of(why.out) == wanted);
}

}  // namespace drift
