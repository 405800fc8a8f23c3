// Which columns went into the log-sum-exp: padding, shards counted several times, lost, or in the wrong
// place.

#include <cmath>

#include "explain/hypotheses.hpp"
#include "explain/numbers.hpp"
#include "topology/shard.hpp"

namespace drift::hypothesis {
namespace {

constexpr double nothing = -std::numeric_limits<double>::infinity();

double log_add(double a, double b) {
  const double high = std::fmax(a, b), low = std::fmin(a, b);
  return low == nothing ? high : high + std::log1p(std::exp(low - high));
}

Option padding(const Survey& survey) {
  Option option;
  const std::string from = text_of(survey.vocab);
  option.cause = {
      "padding_in_lse",
      "the " + text_of(survey.padded_vocab - survey.vocab) + " padded columns are in the log-sum-exp",
      "mask columns >= " + from + " before the log-softmax, or pass --padding include"};
  if (survey.padded_vocab <= survey.vocab) option.why_not = "there are no padded columns";
  option.lse = [&survey](std::size_t variant, std::size_t row) {
    const Variant& way = survey.variants[variant];
    if (way.lse_of_padding.empty()) return std::numeric_limits<double>::quiet_NaN();
    return log_add(way.lse[row], static_cast<double>(way.lse_of_padding[row]));
  };
  return option;
}

Option gathered(const Survey& survey, int tp) {
  Option option;
  option.cause = {
      "gathered_tp" + text_of(tp),
      "every column was counted " + text_of(tp) + " times (LSE + log " + text_of(tp) + ")",
      "logits that are gathered already must not be reduced again over " + text_of(tp) + " TP ranks"};
  const double extra = std::log(static_cast<double>(tp));
  option.lse = [&survey, extra](std::size_t variant, std::size_t row) {
    return survey.variants[variant].lse[row] + extra;
  };
  return option;
}

using Shards = std::vector<std::vector<float>>;

Option lost(const Shards& shards, int tp, std::size_t rank) {
  Option option;
  option.fixed_variant = 0;
  const std::string which = text_of(static_cast<std::int64_t>(rank)) + " of TP " + text_of(tp);
  option.cause = {"shard_lost_tp" + text_of(tp) + "_rank" + text_of(static_cast<std::int64_t>(rank)),
                  "the log-sum-exp lacks vocabulary shard " + which, "merge the shards of all TP ranks"};
  option.lse = [&shards, rank](std::size_t, std::size_t row) {
    double lse = nothing;
    for (std::size_t other = 0; other < shards.size(); ++other)
      if (other != rank) lse = log_add(lse, static_cast<double>(shards[other][row]));
    return lse;
  };
  return option;
}

Option own_shard_only(const Survey& survey, const Shards& shards, int tp) {
  Option option;
  option.fixed_variant = 0;
  option.cause = {"own_shard_only_tp" + text_of(tp),
                  "the log-sum-exp covers only the shard that owns the target (TP " + text_of(tp) + ")",
                  "reduce the sum of exponentials over the TP ranks"};
  option.lse = [&survey, &shards, bounds = even_bounds(survey.padded_vocab, tp)](std::size_t,
                                                                                 std::size_t row) {
    const int owner = bounds.owner(survey.columns[0].column[row]);
    return owner < 0 ? std::numeric_limits<double>::quiet_NaN()
                     : static_cast<double>(shards[static_cast<std::size_t>(owner)][row]);
  };
  return option;
}

// A gather that ignores the destination's offset: one shard lies at column 0 of a buffer of zeros.
Option self_copy(const Survey& survey, const Shards& shards, int tp, int rank, const std::string& pick_id) {
  Option option;
  option.fixed_variant = 0;
  option.cause = {"shard_at_offset_0_tp" + text_of(tp) + "_rank" + text_of(rank),
                  "vocabulary shard " + text_of(rank) + " of TP " + text_of(tp) +
                      " lies at column 0 of a buffer of zeros",
                  "copy each shard to its own offset of the gathered logits"};
  const VocabBounds bounds = even_bounds(survey.padded_vocab, tp);
  const std::int64_t width = intersect(bounds.columns(rank), {0, survey.vocab}).size();
  const std::size_t pick = pick_index(survey, pick_id);
  if (pick == survey.columns.size() || width == 0) option.why_not = "the shard's columns were not looked up";
  const double zeros = static_cast<double>(survey.vocab - width);
  option.lse = [&shards, zeros, rank](std::size_t, std::size_t row) {
    return log_add(static_cast<double>(shards[static_cast<std::size_t>(rank)][row]), std::log(zeros));
  };
  option.logit = [&survey, width, pick](std::size_t variant, std::size_t row) {
    const std::int64_t target = survey.columns[0].column[row];
    if (target < 0) return std::numeric_limits<double>::quiet_NaN();
    return target < width ? picked_value(survey, variant, pick, row) : 0.0;
  };
  return option;
}

}  // namespace

Table domain_table(const Survey& survey) {
  Table table(1);
  table[0].lse = [&survey](std::size_t variant, std::size_t row) {
    return survey.variants[variant].lse[row];
  };
  table.push_back(padding(survey));
  for (const int tp : {2, 4, 8}) table.push_back(gathered(survey, tp));
  for (const auto& [tp, shards] : survey.shards) {
    if (tp < 2) continue;
    table.push_back(own_shard_only(survey, shards, tp));
    for (std::size_t rank = 0; rank < shards.size(); ++rank) table.push_back(lost(shards, tp, rank));
    const std::string suffix = "_tp" + text_of(tp);
    table.push_back(self_copy(survey, shards, tp, 0, "target"));
    table.push_back(
        self_copy(survey, shards, tp, 1, (tp == 2 ? "shards_reversed" : "shards_rotated_left") + suffix));
    if (tp > 2) table.push_back(self_copy(survey, shards, tp, tp - 1, "shards_reversed" + suffix));
  }
  return table;
}

}  // namespace drift::hypothesis
