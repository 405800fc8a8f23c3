#include "audit/plan_text.hpp"

#include "audit/kept_rows.hpp"
#include "audit/options.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"
#include "base/text_grid.hpp"

namespace drift {
namespace {

std::string ranges_text(const std::vector<Range>& ranges) {
  constexpr std::size_t shown = 4;
  std::string out;
  for (std::size_t i = 0; i < ranges.size() && i < shown; ++i)
    out +=
        (i == 0 ? "[" : " [") + std::to_string(ranges[i].begin) + "," + std::to_string(ranges[i].end) + ")";
  if (ranges.size() > shown) out += " ... " + std::to_string(ranges.size()) + " ranges";
  return out.empty() ? "none" : out;
}

/// Chunks lie twice in host memory and twice in the backend's: one is read while the other is computed on.
constexpr std::int64_t copies = 4;

}  // namespace

std::string assumed_backend(const Config& config) { return config.backend == "cuda" ? "cuda" : "cpu"; }

std::vector<std::string> dry_run_text(const Case& run) {
  if (!run.has_logits()) {
    std::vector<std::string> out{"# dry run: nothing is computed",
                                 "# dump     " + escaped(run.config.dump) +
                                     ", no logits: one rank compares pairs of " +
                                     counted(run.roles.rows, "row")};
    for (const Pair& pair : run.pairs) out.push_back("# pair     " + escaped(pair.name()));
    for (const std::string& warning : run.warnings) out.push_back("# warning  " + escaped(warning));
    return out;
  }
  const std::int64_t element = bytes(run.roles.logits.dtype);
  std::string ids;
  for (const Formula* formula : run.formulas) ids += (ids.empty() ? "" : ", ") + std::string(formula->id);
  std::vector<std::string> out{
      "# dry run: nothing is computed",
      "# dump     " + escaped(run.config.dump) + ", " + byte_text(run.roles.logits.bytes) + " of logits, " +
          counted(run.roles.rows, "row") + " of " + grouped(run.padded_vocab) + " columns, " +
          grouped(run.vocab) + " count",
      "# values   temperature " +
          (run.roles.temperature ? "of the tensor " + escaped(run.roles.temperature->name)
                                 : to_text(run.config.temperature)) +
          ", log-probs over " + (what_keeps(run).empty() ? "the whole vocabulary" : "what " + what_keeps(run) + " keeps"),
      "# topology tp " + std::to_string(run.grid.tp) + " x cp " + std::to_string(run.grid.cp) + " " +
          run.config.cp_layout + ", " + counted(run.grid.world(), "rank"),
      "# formulas " + ids,
      "# chunks   " + counted(run.rows_per_chunk, "row") + " at a time, up to " +
          byte_text(run.rows_per_chunk * run.padded_vocab * element) + " of whole rows",
  };
  for (const auto& [formula, reason] : run.rejected) out.push_back("# rejected " + formula + ": " + reason);
  for (const std::string& warning : run.warnings) out.push_back("# warning  " + escaped(warning));

  std::vector<std::vector<std::string>> rows{
      {"rank", "tp", "cp", "columns", "real", "shard", "memory", "rows", "which"}};
  for (int rank = 0; rank < run.grid.world(); ++rank) {
    const int tp_rank = run.grid.tp_rank(rank), cp_rank = run.grid.cp_rank(rank);
    const Range columns = run.bounds.columns(tp_rank);
    const std::vector<Range> owned = run.rows_of(cp_rank);
    const std::int64_t count_rows = count(owned), chunk = std::min(run.rows_per_chunk, count_rows);
    rows.push_back(
        {std::to_string(rank), std::to_string(tp_rank), std::to_string(cp_rank),
         "[" + std::to_string(columns.begin) + "," + std::to_string(columns.end) + ")",
         grouped(intersect(columns, {0, run.vocab}).size()), byte_text(count_rows * columns.size() * element),
         byte_text(copies * chunk * run.padded_vocab * element), grouped(count_rows), ranges_text(owned)});
  }
  out.emplace_back("#");
  for (std::string& line : aligned(rows, 0)) out.push_back(std::move(line));
  out.emplace_back(
      "# shard: bytes of the rank's own columns and rows; memory: its buffers for whole rows (the oracle's)");
  return out;
}

Plan plan_text(const Config& config, const PlanDegrees& degrees, const DumpFile& dump,
               const Launcher& launcher) {
  Plan out;
  int refusal = 0;
  bool runs = false;
  for (const std::int64_t tp : degrees.tp)
    for (const std::int64_t cp : degrees.cp) {
      Config one = config;
      one.tp = tp;
      one.cp = cp;
      one.typed.insert({"tp", "cp"});
      const std::string label = "tp" + std::to_string(tp) + "-cp" + std::to_string(cp);
      if (!one.out.empty()) one.out += "/" + label;
      try {
        resolve(one, dump, assumed_backend(one));
        out.lines.push_back(launch_line(one, launcher));
        runs = true;
      } catch (const Error& error) {
        if (error.fault() != Fault::usage && error.fault() != Fault::input) throw;
        out.lines.push_back("# " + label + " cannot run (exit " + std::to_string(error.exit_code()) +
                            "): " + escaped(error.what()));
        if (refusal == 0) refusal = error.exit_code();
      }
    }
  out.exit_code = runs ? 0 : refusal;
  return out;
}

}  // namespace drift
