// The columns that faulty programs would have read instead of the target's.

#include <algorithm>
#include <cstddef>
#include <string>

#include "base/error.hpp"
#include "explain/explain.hpp"
#include "explain/rank_rows.hpp"
#include "topology/shard.hpp"

namespace drift {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

class Picks {
 public:
  Picks(std::span<const std::int64_t> targets, std::int64_t vocab, std::int64_t padded)
      : targets_(targets), vocab_(vocab), padded_(padded) {}

  /// `column(row)`; what is no column of the dump becomes -1.
  template <class Column>
  void add(std::string id, const Column& column) {
    ColumnPick pick;
    pick.id = std::move(id);
    pick.column.resize(targets_.size());
    for (std::size_t row = 0; row < targets_.size(); ++row) {
      const std::int64_t c = column(static_cast<std::int64_t>(row));
      pick.column[row] = c >= 0 && c < padded_ ? c : -1;
    }
    picks_.push_back(std::move(pick));
  }
  /// The target of a row; -1: it has none.
  std::int64_t target(std::int64_t row) const {
    const std::int64_t t = targets_[at(row)];
    return t >= 0 && t < vocab_ ? t : -1;
  }
  std::vector<ColumnPick> take() { return std::move(picks_); }

 private:
  std::span<const std::int64_t> targets_;
  std::int64_t vocab_, padded_;
  std::vector<ColumnPick> picks_;
};

// What stands at `position` if the shards were concatenated in the order `shard_at(0), shard_at(1), ...`.
template <class ShardAt>
std::int64_t column_in_order(const VocabBounds& bounds, std::int64_t position, const ShardAt& shard_at) {
  if (position < 0) return -1;
  for (int place = 0; place < bounds.tp(); ++place) {
    const Range columns = bounds.columns(shard_at(place));
    if (position < columns.size()) return columns.begin + position;
    position -= columns.size();
  }
  return -1;
}

void add_shard_orders(Picks& picks, std::int64_t padded) {
  for (const int tp : {2, 4, 8}) {
    const VocabBounds bounds = even_bounds(padded, tp);
    const std::string suffix = "_tp" + std::to_string(tp);
    const auto add = [&](const std::string& id, const auto& shard_at) {
      picks.add(id + suffix,
                [&](std::int64_t row) { return column_in_order(bounds, picks.target(row), shard_at); });
    };
    add("shards_reversed", [tp](int place) { return tp - 1 - place; });
    if (tp > 2) {  // of two shards, a rotation is the reversal
      add("shards_rotated_left", [tp](int place) { return (place + 1) % tp; });
      add("shards_rotated_right", [tp](int place) { return (place + tp - 1) % tp; });
    }
    picks.add("local_index" + suffix, [&](std::int64_t row) {
      const std::int64_t t = picks.target(row);
      return t < 0 ? t : t - bounds.columns(bounds.owner(t)).begin;
    });
  }
  // The rank that does not own the target clamps its index to its shard and adds what stands there.
  const VocabBounds halves = even_bounds(padded, 2);
  picks.add("clamped_tp2", [&](std::int64_t row) {
    const std::int64_t t = picks.target(row);
    return t < 0 ? t : t < halves.bounds[1] ? halves.bounds[1] : halves.bounds[1] - 1;
  });
}

// Labels rolled after the rows were given to CP ranks: the last row of a stretch takes what follows on its
// rank. Row r's right label is token r + 1, so "token s" is the target of row s - 1.
void add_local_rolls(Picks& picks, std::span<const Range> sequences, std::size_t rows) {
  for (const CpLayout layout : {CpLayout::zigzag, CpLayout::contiguous})
    for (const int cp : {2, 4, 8}) {
      std::vector<std::int64_t> column(rows, -1);
      for (const Range& sequence : sequences)
        for (int rank = 0; rank < cp; ++rank) {
          const std::vector<std::int64_t> own = rows_of_rank(sequence, cp, rank, layout);
          for (std::size_t i = 0; i < own.size(); ++i) {
            const std::int64_t token = own[(i + 1) % own.size()];
            if (token > sequence.begin) column[at(own[i])] = picks.target(token - 1);
          }
        }
      picks.add(std::string("label_roll_") + (layout == CpLayout::zigzag ? "zigzag" : "contiguous") + "_cp" +
                    std::to_string(cp),
                [&](std::int64_t row) { return column[at(row)]; });
    }
}

}  // namespace

std::vector<ColumnPick> columns_to_pick(std::span<const std::int64_t> targets,
                                        std::span<const Range> sequences, std::int64_t vocab,
                                        std::int64_t padded_vocab) {
  const auto rows = static_cast<std::int64_t>(targets.size());
  std::vector<std::int64_t> next(targets.size(), -1), previous(targets.size(), -1);
  for (const Range& sequence : sequences) {
    require(sequence.begin >= 0 && sequence.end <= rows, Fault::internal,
            "a sequence reaches outside the dump, seen rows [" + std::to_string(sequence.begin) + ", " +
                std::to_string(sequence.end) + "), wanted them in [0, " + std::to_string(rows) + ")");
    for (std::int64_t row = sequence.begin; row < sequence.end; ++row) {
      next[at(row)] = row + 1 < sequence.end ? row + 1 : sequence.begin;
      previous[at(row)] = row > sequence.begin ? row - 1 : sequence.end - 1;
    }
  }
  Picks picks(targets, vocab, padded_vocab);
  const auto target_of = [&](std::int64_t row) { return row < 0 ? row : picks.target(row); };
  picks.add("target", target_of);
  picks.add("next_target", [&](std::int64_t row) { return target_of(next[at(row)]); });
  picks.add("previous_target", [&](std::int64_t row) { return target_of(previous[at(row)]); });
  picks.add("next_target_across", [&](std::int64_t row) { return target_of((row + 1) % rows); });
  picks.add("previous_target_across", [&](std::int64_t row) { return target_of((row + rows - 1) % rows); });
  picks.add("argmax", [](std::int64_t) { return std::int64_t{-1}; });
  add_shard_orders(picks, padded_vocab);
  add_local_rolls(picks, sequences, targets.size());
  return picks.take();
}

std::vector<std::int64_t> rows_to_sample(std::span<const std::uint8_t> use, std::size_t most) {
  std::vector<std::int64_t> rows;
  for (std::size_t row = 0; row < use.size(); ++row)
    if (use[row]) rows.push_back(static_cast<std::int64_t>(row));
  if (rows.size() <= most) return rows;
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < most; ++i)
    out.push_back(rows[i * (rows.size() - 1) / std::max<std::size_t>(most - 1, 1)]);
  return out;
}

}  // namespace drift
