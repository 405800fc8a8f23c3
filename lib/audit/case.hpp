#pragma once

// A run with every question answered: what the options, the dump's metadata and the defaults come to
// together.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "audit/config.hpp"
#include "dump/dump_file.hpp"
#include "dump/facts.hpp"
#include "dump/roles.hpp"
#include "formulas/formula.hpp"
#include "kernels/kept_set.hpp"
#include "kernels/value_rule.hpp"
#include "topology/grid.hpp"
#include "topology/shard.hpp"

namespace drift {

/// Two columns that are compared with each other: names of recorded tensors, "oracle", or formula ids.
struct Pair {
  std::string a, b;  ///< a: the training side
  RecordedKind kind = RecordedKind::logp;

  std::string name() const { return a + ":" + b; }
};

struct Case {
  Config config;                                             ///< with metadata and defaults filled in
  std::vector<std::pair<std::string, std::string>> sources;  ///< option -> option | metadata | default
  Roles roles;

  Grid grid;
  CpLayout layout = CpLayout::contiguous;
  VocabBounds bounds;           ///< over [0, padded_vocab)
  std::int64_t real_vocab = 0;  ///< targets lie in [0, real_vocab)
  std::int64_t vocab = 0;       ///< V of the LSE: real_vocab, or padded_vocab with --padding include
  std::int64_t padded_vocab = 0;

  ValueRule candidate;  ///< what formulas see
  bool input_is_rounded =
      false;  ///< --candidate-dtype changes the dtype: the oracle runs on stored and on rounded values

  Truncation truncation;       ///< top-k, top-p, min-p: log-probs over what they keep
  bool has_kept_sets = false;  ///< log-probs over the dump's own kept sets

  std::vector<const Formula*> formulas;                 ///< empty without logits only
  std::vector<std::shared_ptr<const Formula>> plugins;  ///< keeps alive those of `formulas` that were loaded
  std::vector<Pair> pairs;
  std::vector<std::pair<std::string, std::string>> rejected;  ///< of `--formula all`: id, reason
  std::vector<std::string> warnings;                          ///< options without effect, odd but legal input

  std::int64_t rows_per_chunk = 1;

  bool has_logits() const { return roles.has_logits(); }

  /// Rows that cp_rank owns, of the flattened dump.
  std::vector<Range> rows_of(int cp_rank) const {
    return cp_rows(roles.batch, roles.sequence, grid.cp, cp_rank, layout);
  }
};

/// What the command line says about tensors' names, and which facts of the dump it replaces.
RoleNames role_names(const Config& config);
Overridden overridden_facts(const Config& config);

/// The one resolver of run, plan, inspect and dry-run. `backend` is what the run will use ("cpu" or "cuda"):
/// formulas may refuse one. Reads no tensor data. Throws Fault::usage for what a typed option cannot have,
/// Fault::input for what the dump says.
Case resolve(const Config& config, const DumpFile& dump, const std::string& backend);

}  // namespace drift
