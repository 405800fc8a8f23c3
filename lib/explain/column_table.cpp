// Which logit was taken for the target's.

#include <algorithm>

#include "explain/hypotheses.hpp"
#include "explain/numbers.hpp"
#include "topology/shard.hpp"

namespace drift::hypothesis {
namespace {

// Column faults that only read another column: a pick's id is the cause's id. '#' stands for the number at
// its end.
struct Text {
  const char *id, *what, *remedy;
};
constexpr Text texts[] = {
    {"next_target", "the targets are shifted by one (each row was scored with the next row's target)",
     "align targets with logits: row r predicts token r + 1"},
    {"previous_target", "the targets are shifted by one (each row was scored with the previous row's target)",
     "align targets with logits: row r predicts token r + 1"},
    {"next_target_across", "the targets were rolled back by one across sequences",
     "roll inside each sequence"},
    {"previous_target_across", "the targets were rolled forward by one across sequences",
     "roll inside each sequence"},
    {"argmax", "the most likely token was scored instead of the target",
     "gather the sampled token's log-prob"},
    {"shards_reversed_tp", "the # vocabulary shards were concatenated in reverse",
     "gather shards in TP rank order"},
    {"shards_rotated_left_tp",
     "the # vocabulary shards were rotated by one (the target is read one shard further up)",
     "subtract the owner's own first column"},
    {"shards_rotated_right_tp",
     "the # vocabulary shards were rotated by one (the target is read one shard further down)",
     "subtract the owner's own first column"},
    {"local_index_tp", "the owner's local index was read as a global column (TP #)",
     "add the owner's first column, or look up in its own shard"},
    {"label_roll_zigzag_cp",
     "labels were rolled after the rows were split over # zigzag CP ranks (chunk edges are wrong)",
     "shift labels before the CP split"},
    {"label_roll_contiguous_cp",
     "labels were rolled after the rows were split over # CP ranks (chunk edges are wrong)",
     "shift labels before the CP split"},
};

std::string filled(std::string text, const std::string& number) {
  const std::size_t place = text.find('#');
  return place == std::string::npos ? text : text.replace(place, 1, number);
}

Option pick_option(const Survey& survey, std::size_t pick) {
  const ColumnPick& column = survey.columns[pick];
  const std::size_t stem = column.id.find_last_not_of("0123456789") + 1;
  const auto text = std::find_if(std::begin(texts), std::end(texts),
                                 [&](const Text& t) { return column.id.substr(0, stem) == t.id; });
  Option option;
  option.cause = {column.id, "column " + column.id + " was read", "read the target's"};
  if (text != std::end(texts))
    option.cause = {column.id, filled(text->what, column.id.substr(stem)), text->remedy};
  option.logit = [&survey, pick](std::size_t variant, std::size_t row) {
    return picked_value(survey, variant, pick, row);
  };
  return option;
}

Option scaled_target(const Survey& survey, const Cause& cause, double factor) {
  Option option;
  option.cause = cause;
  option.logit = [&survey, factor](std::size_t variant, std::size_t row) {
    return factor * picked_value(survey, variant, 0, row);
  };
  return option;
}

// Only where the target is the first column of a shard.
Option at_fence(const Survey& survey, const Cause& cause, int tp, double factor) {
  Option option;
  option.cause = cause;
  option.logit = [&survey, factor, bounds = even_bounds(survey.padded_vocab, tp)](std::size_t variant,
                                                                                  std::size_t row) {
    const std::int64_t target = survey.columns[0].column[row];
    const bool first = target > 0 && std::binary_search(bounds.bounds.begin(), bounds.bounds.end(), target);
    return (first ? factor : 1.0) * picked_value(survey, variant, 0, row);
  };
  return option;
}

}  // namespace

Table column_table(const Survey& survey) {
  Table table(1);
  table[0].logit = [&survey](std::size_t variant, std::size_t row) {
    return picked_value(survey, variant, 0, row);
  };
  for (std::size_t pick = 1; pick < survey.columns.size(); ++pick) {
    const std::string& id = survey.columns[pick].id;
    if (id == "clamped_tp2") continue;
    table.push_back(pick_option(survey, pick));
    if (id.ends_with("_across") && survey.sequences.size() < 2)
      table.back().why_not = "there is one sequence: a roll across sequences is a shift";
  }
  table.push_back(scaled_target(survey,
                                {"target_missing", "the target's logit is missing (0 was used)",
                                 "exactly one TP rank must own each target"},
                                0));
  table.push_back(scaled_target(
      survey,
      {"target_twice", "the target's logit was counted twice", "exactly one TP rank must own each target"},
      2));
  for (const int tp : {2, 4, 8}) {
    const std::string n = text_of(tp), where = "where it is the first column of one of " + n + " shards";
    const std::string remedy = "a shard owns columns [begin, end): end belongs to the next";
    table.push_back(at_fence(
        survey, {"fence_twice_tp" + n, "the target's logit was counted twice " + where, remedy}, tp, 2));
    table.push_back(
        at_fence(survey, {"fence_missing_tp" + n, "the target's logit is missing " + where, remedy}, tp, 0));
  }
  const std::size_t clamped = pick_index(survey, "clamped_tp2");
  if (clamped < survey.columns.size()) {
    Option option;
    option.cause = {
        "clamped_tp2",
        "the TP rank that does not own the target added a column of its own (clamped index, TP 2)",
        "zero the contribution of ranks that do not own the target"};
    option.logit = [&survey, clamped](std::size_t variant, std::size_t row) {
      return picked_value(survey, variant, 0, row) + picked_value(survey, variant, clamped, row);
    };
    table.push_back(std::move(option));
  }
  return table;
}

}  // namespace drift::hypothesis
