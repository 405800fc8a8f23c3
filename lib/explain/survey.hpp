#pragma once

// What the logits say about every row under several ways to read them: all that hypotheses are made of.
// Gathered on rank 0 in global row order; nothing here touches logits again.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/range.hpp"
#include "kernels/kept_set.hpp"
#include "kernels/value_rule.hpp"

namespace drift {

/// One way from stored logits to values: temperature, its order, and what was truncated.
struct Variant {
  std::string id;  ///< "audited", "temperature_ignored", "temperature_native", "temperature_reciprocal",
                   ///< "temperature_twice", "temperature_fitted", "truncation_off", "truncation_fitted",
                   ///< "logits_bf16", "logits_f16"
  ValueRule rule;
  Truncation truncation;
  std::vector<float> lse_of_padding{};  ///< [rows] LSE of the columns [V, padded); -inf: none
  std::vector<double> lse{};            ///< [rows] over [0, V), after truncation; NaN: the row has none
};

/// How the variant reads a row whose audited temperature is `temperature`.
inline ValueRule rule_in_row(const Variant& way, float temperature) {
  ValueRule rule = way.rule;
  if (way.id == "temperature_ignored")
    rule.temperature = 1;
  else if (way.id == "temperature_twice")
    rule.temperature = temperature * temperature;
  else if (way.id != "temperature_fitted")
    rule.temperature = temperature;
  return rule;
}

/// Whether the variant sees the columns that the audit keeps (of kept sets, which are no numbers, too).
inline bool is_truncated_as(const Variant& way, const Variant& audited) {
  return way.truncation == audited.truncation && way.id != "truncation_off";
}

/// One column a row, and what is stored there.
struct ColumnPick {
  std::string id;  ///< "target", "next_target", ... (columns_to_pick.cpp); "argmax": the survey's own
  std::vector<std::int64_t> column;  ///< [rows]; -1: this row has none
  std::vector<float>
      stored;  ///< [rows] widened to fp32, before rounding, temperature and truncation; NaN: none
};

struct Survey {
  std::int64_t rows = 0, batch = 1, sequence = 0;
  std::int64_t vocab = 0, padded_vocab = 0;
  std::vector<Range> sequences;       ///< cover all rows
  std::vector<std::uint8_t> active;   ///< [rows] by mask or ignore-index
  std::vector<std::uint8_t> use;      ///< [rows] active, and with a log-prob
  std::vector<float> temperature;     ///< [rows] as audited
  std::vector<Variant> variants;      ///< [0]: as audited
  std::vector<ColumnPick> columns;    ///< [0]: the target
  std::vector<std::int64_t> argmax;   ///< [rows]
  std::vector<float> sigma, entropy;  ///< [rows] of the audited variant, nats
  /// tp -> LSE of each even shard of the padded vocabulary, real columns only: shards[tp][rank][row], audited
  /// variant.
  std::map<int, std::vector<std::vector<float>>> shards;
  /// Registry formulas' log-probs, [rows] each, under the variant and domain they were run for.
  struct FormulaRows {
    std::string formula;
    std::size_t variant = 0;
    bool with_padding = false;
    std::vector<float> logp;
  };
  std::vector<FormulaRows> formulas;
};

}  // namespace drift
