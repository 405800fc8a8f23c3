#include "plugin/plugin.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"
#include "plugin/default_bound.hpp"
#include "plugin/kernel_call.hpp"

namespace drift {
namespace {

/// A formula and all that its texts and functions look at.
struct Plugin {
  PluginLibrary library;
  std::string summary, used_by;
  Formula formula;
};

std::string refusal(const PluginFacts& facts, const FormulaRun& run) {
  const bool is_cuda = run.backend == "cuda";
  if ((facts.memories & (is_cuda ? DRIFT_MEMORY_CUDA : DRIFT_MEMORY_HOST)) == 0)
    return is_cuda ? "it computes in host memory and this run's backend is cuda (--backend cpu runs it)"
                   : "it computes in CUDA memory and this run's backend is cpu (--backend cuda runs it, on a "
                     "GPU)";
  const ValueRule& rule = run.rule;
  if ((facts.dtypes & plugin_bit(rule.stored)) == 0)
    return "it does not read logits stored as " + std::string(name(rule.stored)) + " (it reads " +
           dtype_names(facts.dtypes) + ")";
  const bool rounds = rule.candidate != rule.stored && rule.candidate != Dtype::F32;
  if (rounds && (facts.rounds_to & plugin_bit(rule.candidate)) == 0)
    return "it does not round logits to " + std::string(name(rule.candidate)) +
           ", which --candidate-dtype asks for " + "(it rounds to: " + dtype_names(facts.rounds_to) + ")";
  const bool divides = run.has_row_temperatures || rule.temperature != 1.0f;
  if (divides && (facts.temperature_orders & plugin_bit(rule.order)) == 0)
    return facts.temperature_orders == 0 ? "it takes logits at temperature 1 only"
                                         : "it does not know this run's --temperature-order";
  return "";
}

Formula formula_of(const Plugin& plugin) {
  const PluginFacts& facts = plugin.library.facts;
  return {.id = facts.name,
          .summary = plugin.summary,
          .used_by = plugin.used_by,
          .claims = facts.claims,
          .reduction = {.merge = facts.wants_whole_rows ? "all_gather of stored values" : "the plug-in's own",
                        .acc_dtype = "not stated",
                        .order = "the plug-in's own",
                        .downcast_at = "not stated"},
          .refuses = [&facts](const FormulaRun& run) { return refusal(facts, run); },
          .lse_bound =
              [&facts](const BoundInput& in) {
                return facts.lse_bound > 0 ? facts.lse_bound : default_lse_bound(in);
              },
          .logp_bound =
              [&facts](const BoundInput& in) {
                return facts.logp_bound > 0 ? facts.logp_bound : default_logp_bound(in, facts.output);
              },
          .run = [&library = plugin.library](const FormulaInput& in,
                                             RowResult out) { call_kernel(library, in, out); }};
}

}  // namespace

std::shared_ptr<const Formula> load_plugin(const std::string& path, double deadline_seconds) {
  const auto plugin = std::make_shared<Plugin>();
  require(deadline_seconds > 0, Fault::internal,
          "a plug-in's deadline is no time, seen " + std::to_string(deadline_seconds) + " s");
  plugin->library = open_plugin(path, deadline_seconds);
  const std::string& summary = plugin->library.facts.summary;
  plugin->summary = summary.empty() ? "a kernel of the user's" : summary;
  plugin->used_by = "plug-in " + escaped(path, 300);
  plugin->formula = formula_of(*plugin);
  return {plugin, &plugin->formula};
}

std::string plugin_digest(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Digester out;
  std::array<char, std::size_t{64} << 10> piece;
  while (file.read(piece.data(), piece.size()) || file.gcount() > 0)
    out.update(std::as_bytes(std::span(piece.data(), static_cast<std::size_t>(file.gcount()))));
  require(file.eof() && !file.bad(), Fault::io,
          "plug-in " + escaped(path, 300) + " cannot be read: " + std::strerror(errno));
  return hex(out.finish());
}

}  // namespace drift
