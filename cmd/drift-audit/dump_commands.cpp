// Commands about dumps: inspect, generate, plan.

#include <filesystem>

#include "audit/kept_rows.hpp"
#include "audit/options.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"
#include "drift-audit/commands.hpp"
#include "dump/inspect.hpp"

namespace drift {
namespace {

std::string source_of(const Case& run, const std::string& key) {
  for (const auto& [name, source] : run.sources)
    if (name == key) return source;
  return "default";
}

std::vector<std::string> resolved_lines(const Case& run) {
  const Config& config = run.config;
  if (!run.has_logits()) {
    std::vector<std::string> pairs;
    for (const Pair& pair : run.pairs) pairs.push_back("  pair: " + escaped(pair.name()));
    return pairs;
  }
  std::vector<std::string> out{
      run.roles.temperature
          ? "  temperature: the tensor " + escaped(run.roles.temperature->name)
          : "  temperature: " + to_text(config.temperature) + " (" + source_of(run, "temperature") + ")",
      "  kept set: " + (what_keeps(run).empty() ? "the whole vocabulary" : what_keeps(run)),
      "  real vocabulary: " + std::to_string(run.real_vocab) + " of " + std::to_string(run.padded_vocab) +
          " (" + source_of(run, "real_vocab") + ")",
      "  ignore index: " + std::to_string(config.ignore_index) + " (" + source_of(run, "ignore_index") + ")",
      "  rows per chunk: " + std::to_string(run.rows_per_chunk)};
  for (const Formula* formula : run.formulas)
    out.push_back("  formula " + std::string(formula->id) + ": accepts");
  for (const auto& [formula, reason] : run.rejected)
    out.push_back("  formula " + formula + ": refuses, " + reason);
  return out;
}

}  // namespace

int inspect(const InspectRequest& request, const Console& console) {
  const Config& typed = request.config;
  const DumpFile dump = DumpFile::open(typed.dump);
  const auto real = typed.typed.contains("real-vocab") ? std::optional(typed.real_vocab) : std::nullopt;
  const std::string report = inspect_report(dump, role_names(typed), real, overridden_facts(typed));
  console.print(report);
  try {
    Config every = typed;
    every.formula = {"all"};
    console.say(resolved_lines(resolve(every, dump, "cpu")));
  } catch (const Error& refusal) {  // a well-formed file that run would refuse is still well-formed
    if (report.find(refusal.what()) == std::string::npos)
      console.say("run would refuse this file:\n  " + std::string(refusal.what()));
  }
  return 0;
}

int generate(const GenerateCommand& request, const Console& console) {
  // symlink_status: a link, wherever it points, would be replaced too.
  std::error_code unseen;
  const auto there = std::filesystem::symlink_status(request.path, unseen).type();
  require(request.force ||
              (there != std::filesystem::file_type::regular && there != std::filesystem::file_type::symlink),
          Fault::io, escaped(request.path) + ": is there already (it would be lost); --force replaces it");
  generate(request.path, request.what);
  console.say("wrote " + escaped(request.path) + ": " + std::to_string(request.what.rows) +
              " rows, vocabulary " + std::to_string(request.what.vocab) + " of " +
              std::to_string(request.what.padded_vocab) + ", " + std::string(name(request.what.dtype)) +
              ", profile " + std::string(name(request.what.profile)));
  return 0;
}

int plan(const PlanRequest& request, const Process& process, const Console& console) {
  const DumpFile dump = DumpFile::open(request.config.dump);
  const Plan plan = plan_text(request.config, request.degrees, dump, process.launcher);
  console.say(plan.lines);
  return plan.exit_code;
}

}  // namespace drift
