// Whose value stands in a row: shifts by one, and CP shards put together in another layout's order.

#include "explain/hypotheses.hpp"
#include "explain/numbers.hpp"
#include "explain/rank_rows.hpp"

namespace drift::hypothesis {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// Row r holds the value of row r + lag. What a shift leaves at an edge is the other end's value, or 0:
// ~source.
Option lag(const Survey& survey, std::span<const Range> stretches, int step, bool across) {
  Option option;
  const std::string which = step > 0 ? "next" : "previous";
  const std::string where = across ? ", across sequences" : "";
  option.cause = {
      "rows_" + which + (across ? "_across" : ""),
      "the recorded values are shifted by one row (each row holds the " + which + " row's" + where + ")",
      step > 0 ? "move them one row down: logprob[r] belongs to logits[r]"
               : "move them one row up: logprob[r] belongs to logits[r]"};
  if (across && survey.sequences.size() < 2)
    option.why_not = "there is one sequence: a roll across sequences is a shift";
  option.source.resize(at(survey.rows));
  for (const Range& stretch : stretches)
    for (std::int64_t row = stretch.begin; row < stretch.end; ++row) {
      const std::int64_t source = row + step;
      option.source[at(row)] =
          stretch.contains(source) ? source : ~(step > 0 ? stretch.begin : stretch.end - 1);
    }
  return option;
}

// The rows of rank 0, rank 1, ... one after the other.
std::vector<std::int64_t> rank_order(Range sequence, int cp, CpLayout layout) {
  std::vector<std::int64_t> rows;
  for (int rank = 0; rank < cp; ++rank)
    for (const std::int64_t row : rows_of_rank(sequence, cp, rank, layout)) rows.push_back(row);
  return rows;
}

Option layouts(const Survey& survey, std::span<const Range> stretches, int cp, CpLayout made,
               CpLayout rebuilt) {
  Option option;
  const std::string n = text_of(cp);
  const bool zigzag_made = made == CpLayout::zigzag;
  option.cause =
      zigzag_made
          ? Cause{"zigzag_concatenated_cp" + n, "the rows of " + n + " zigzag CP ranks were concatenated",
                  "put each rank's two chunks back in their places"}
          : Cause{"contiguous_as_zigzag_cp" + n,
                  "the rows of " + n + " contiguous CP ranks were put together as zigzag chunks",
                  "concatenate the ranks' rows"};
  option.source.resize(at(survey.rows));
  for (const Range& stretch : stretches) {
    if (stretch.size() < 2 * cp)
      option.why_not = "a sequence has fewer than " + text_of(2 * cp) + " rows";
    else if (!zigzag_made && stretch.size() % (2 * cp) != 0)
      option.why_not = "the sequence length is no multiple of " + text_of(2 * cp);
    const std::vector<std::int64_t> from = rank_order(stretch, cp, made),
                                    to = rank_order(stretch, cp, rebuilt);
    for (std::size_t i = 0; i < from.size(); ++i) option.source[at(to[i])] = from[i];
  }
  return option;
}

}  // namespace

Table row_table(const Survey& survey) {
  Table table(1);
  const Range whole[] = {{0, survey.rows}};
  for (const int step : {1, -1}) {
    table.push_back(lag(survey, survey.sequences, step, false));
    table.push_back(lag(survey, whole, step, true));
  }
  for (const int cp : {2, 4, 8}) {
    table.push_back(layouts(survey, survey.sequences, cp, CpLayout::contiguous, CpLayout::zigzag));
    table.push_back(layouts(survey, survey.sequences, cp, CpLayout::zigzag, CpLayout::contiguous));
  }
  return table;
}

}  // namespace drift::hypothesis
