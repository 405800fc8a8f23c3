// Nothing that was typed is ignored in silence: an option that can change nothing here is named.

#include <algorithm>

#include "audit/options.hpp"
#include "audit/resolve_parts.hpp"

namespace drift {
namespace {

/// Tables that this run does not have; `all` asks for those that there are.
void name_idle_strata(Case& out) {
  const auto wants = [&](const char* table) {
    return std::find(out.config.strata.begin(), out.config.strata.end(), table) != out.config.strata.end();
  };
  const auto warn = [&](const std::string& table, const std::string& why) {
    out.warnings.push_back("--strata" + table + " has no effect here: " + why);
  };
  if (out.config.strata.empty()) return;
  if (out.roles.recorded.empty() && out.pairs.empty()) {
    warn("", "nothing is recorded, and there is no pair");
    return;
  }
  if (wants("owner_tp_rank") && !out.has_logits())
    warn(" owner_tp_rank", "without logits no rank owns a target");
  else if (wants("owner_tp_rank") && out.grid.tp == 1)
    warn(" owner_tp_rank", "with --tp 1 one rank owns every target");
  if (wants("cp_chunk") && out.grid.cp == 1) warn(" cp_chunk", "with --cp 1 a sequence is one chunk");
}

}  // namespace

void name_idle_options(Case& out) {
  const Config& config = out.config;
  const auto idle = [&](const std::string& name, bool when, const std::string& why) {
    if (when && config.typed.contains(name))
      out.warnings.push_back("--" + name + " has no effect here: " + why);
  };
  name_idle_strata(out);
  idle("metric-names", out.pairs.empty(), "there is no pair of recorded tensors, and no --pair");
  idle("metric-names",
       !out.pairs.empty() && std::all_of(out.pairs.begin(), out.pairs.end(),
                                         [](const Pair& pair) { return pair.kind == RecordedKind::lse; }),
       "every pair is of log-sum-exps, and the metrics are of log-probs");
  if (!out.has_logits()) {
    for (const char* name :
         {"formula", "backend", "transport", "candidate-dtype", "temperature", "temperature-order",
          "real-vocab", "padding", "top-k", "top-p", "min-p", "vocab-bounds", "cp-layout", "rows-per-chunk",
          "tolerance", "atol", "rtol", "certify", "collective-timeout"})
      idle(name, true, "there are no logits, so only pairs of recorded tensors are compared");
    if (config.targets.empty()) idle("ignore-index", true, "there are no targets");
    return;
  }
  const bool divides = out.roles.temperature || out.candidate.temperature != 1.0f;
  const bool native = out.candidate.order == TemperatureOrder::native;

  idle("cp-layout", config.cp == 1, "with --cp 1 one rank owns every row");
  idle("vocab-bounds", out.bounds == even_bounds(out.padded_vocab, out.grid.tp), "these are the even shards");
  idle("transport", config.tp == 1 && config.transport != "auto", "with --tp 1 nothing is merged");
  idle("temperature-order", !divides, "at temperature 1 nothing is divided");
  idle("temperature-order", divides && native && out.candidate.candidate == Dtype::F32,
       "values are F32, so native is f32");
  idle("candidate-dtype",
       config.candidate_dtype != "stored" && !out.input_is_rounded &&
           (out.candidate.candidate == out.candidate.stored || !(divides && native)),
       "logits are stored as " + std::string(name(out.candidate.stored)) + ", which " +
           config.candidate_dtype + " does not round further");
  idle("padding", config.padding == "include" && out.real_vocab == out.padded_vocab,
       "there are no padded columns");
  idle("tolerance", config.atol >= 0 || config.rtol >= 0, "--atol and --rtol replace it");
  idle("collective-timeout", out.grid.world() == 1, "one rank waits for nobody");
}

}  // namespace drift
