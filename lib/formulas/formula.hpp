#pragma once

// A candidate is a named formula: one file of this folder, made of kernels and collectives, without a backend in it.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.hpp"
#include "comm/collective.hpp"
#include "topology/shard.hpp"

namespace drift {

/// What a formula claims not to depend on, bit for bit. every_formula_test checks each claim of each formula.
struct Claims {
  bool tp = false;            ///< the TP degree
  bool bounds = false;        ///< where shards are cut
  bool padded_width = false;  ///< how many padded columns there are
  bool rows = false;          ///< which other rows there are, and the row's own number
  bool chunking = false;      ///< --rows-per-chunk
  bool backend = false;       ///< CPU or GPU
  std::string_view origin = {};    ///< equal, bit for bit, to this other implementation; "" if to none
};

/// How the shards' numbers become one, in words: the report's `contract.reduction`.
struct Reduction {
  std::string_view merge;        ///< what is exchanged and how it is combined
  std::string_view acc_dtype;    ///< dtype of the sum's accumulator
  std::string_view order;        ///< of the sum
  std::string_view downcast_at;  ///< where a wider value is rounded
};

/// What a formula may look at before it accepts a run.
struct FormulaRun {
  std::int64_t vocab = 0;  ///< V, columns in the LSE
  std::string_view backend;
  ValueRule rule = {};                ///< dtypes, temperature and its order
  bool has_row_temperatures = false;  ///< the dump gives each row a temperature: rule.temperature says nothing
};

/// One chunk of rows on one rank. Pointers are in the backend's memory.
struct FormulaInput {
  LogitsView logits;                 ///< this TP rank's shard
  const VocabBounds& bounds;         ///< every TP rank's columns
  const std::int64_t* targets;       ///< [rows], a column in [0, vocab); -1 in inactive rows
  const std::int64_t* row_index;     ///< [rows], the row's number in the whole dump
  Backend& on;
  Collective& tp;
};

/// What an error bound may depend on. `lse` and `logp` are the larger in magnitude of the two values compared.
struct BoundInput {
  double lse = 0;
  double logp = 0;                ///< 0 for the LSE's own bound
  std::int64_t vocab = 0;
  std::int64_t widest_shard = 0;  ///< columns of the widest shard
  int tp = 1;
};

/// One way to compute a vocabulary-parallel log-prob. Data, not a class hierarchy.
struct Formula {
  std::string_view id;       ///< the file's stem with '-': the name on the command line and in reports
  std::string_view summary;  ///< one line for `drift-audit formulas`
  std::string_view used_by;  ///< who computes log-probs this way
  Claims claims;
  Reduction reduction;
  std::function<std::string(const FormulaRun&)> refuses;  ///< "" or the reason why it cannot run this case
  std::function<double(const BoundInput&)> lse_bound;     ///< largest |lse - exact lse| of the same values, in nats
  std::function<double(const BoundInput&)> logp_bound;    ///< largest |logp - exact logp|
  /// Fills `out` (backend memory, [rows] each): LSE of every row, log-prob of every row with a target.
  std::function<void(const FormulaInput&, RowResult out)> run;
};

/// Every formula linked into the program, sorted by id.
std::span<const Formula> formulas();
/// The claims that hold, by the names that --require takes: "tp", "bounds", "padded-width", "rows", "chunking", "backend".
std::vector<std::string> names_of(const Claims&);
/// nullptr if there is none of that id.
const Formula* find_formula(std::string_view id);

/// Put one file-scope `const Registered` in a formula's file to enrol it.
struct Registered {
  explicit Registered(const Formula&);
};

}  // namespace drift
