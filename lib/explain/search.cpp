#include "explain/search.hpp"

#include <algorithm>
#include <cmath>

namespace drift::hypothesis {
namespace {

constexpr std::size_t sampled_rows = 1024, kept_hypotheses = 24;
constexpr double cost_of_fitting = 6;  // bits: a number was chosen among some tens of values

struct Chosen {
  std::size_t axis;
  const Option* option;
  Score alone;
};

// The partner changes nothing: the pair is the single once more.
bool is_single(const Score& pair, const Score& single) {
  return pair.within == single.within && pair.explained == single.explained && pair.moved == single.moved &&
         pair.sum_abs == single.sum_abs && pair.max_abs == single.max_abs;
}

double cost_of(const Hypothesis& hypothesis, double hypotheses) {
  double cost = std::log2(std::fmax(hypotheses, 1));
  for (const Option* option : hypothesis.at) cost += option->fitted ? cost_of_fitting : 0;
  return cost;
}

void keep_best(std::vector<Scored>& scored) {
  std::stable_sort(scored.begin(), scored.end(),
                   [](const Scored& a, const Scored& b) { return a.net > b.net; });
  if (scored.size() > kept_hypotheses) scored.resize(kept_hypotheses);
}

// Singles. One that moves no prediction here is not testable, but may be beside another.
std::vector<Chosen> try_singles(const Survey& survey, const Tables& tables, const Baseline& rows,
                                std::span<const float> recorded, Search& search) {
  const Hypothesis null = null_of(tables);
  std::vector<Chosen> useful;
  double count = 0;
  for (const Table& table : tables.axes) count += static_cast<double>(table.size() - 1);
  for (std::size_t axis = 0; axis < axis_count; ++axis)
    for (std::size_t i = 1; i < tables.axes[axis].size(); ++i) {
      const Option& option = tables.axes[axis][i];
      if (!option.why_not.empty()) {
        search.untestable.push_back(option.cause.id + ": " + option.why_not);
        continue;
      }
      Scored one{null, {}, 0};
      one.hypothesis.at[axis] = &option;
      one.score = score_of(survey, one.hypothesis, rows, recorded);
      one.net = one.score.bits() - cost_of(one.hypothesis, count);
      useful.push_back({axis, &option, one.score});
      if (one.score.moved == 0 && !option.reads_recorded) {
        search.untestable.push_back(option.cause.id +
                                    ": it would move no token by more than fp32 arithmetic does");
        continue;
      }
      if (one.score.explained == 0) search.excluded.push_back(option.cause.id);
      search.best.push_back(std::move(one));
    }
  return useful;
}

void try_pairs(const Survey& survey, const Tables& tables, const Baseline& rows,
               std::span<const float> recorded, const std::vector<Chosen>& useful, Search& search) {
  const Hypothesis null = null_of(tables);
  const double count = static_cast<double>(useful.size() * useful.size()) / 2;
  for (std::size_t a = 0; a < useful.size(); ++a)
    for (std::size_t b = a + 1; b < useful.size(); ++b) {
      if (useful[a].axis == useful[b].axis || !can_pair(*useful[a].option, *useful[b].option)) continue;
      Scored pair{null, {}, 0};
      pair.hypothesis.at[useful[a].axis] = useful[a].option;
      pair.hypothesis.at[useful[b].axis] = useful[b].option;
      pair.score = score_of(survey, pair.hypothesis, rows, recorded);
      if (is_single(pair.score, useful[a].alone) || is_single(pair.score, useful[b].alone)) continue;
      pair.net = pair.score.bits() - cost_of(pair.hypothesis, count);
      search.best.push_back(std::move(pair));
      if (search.best.size() > 16 * kept_hypotheses) keep_best(search.best);
    }
}

}  // namespace

Hypothesis null_of(const Tables& tables) {
  Hypothesis null;
  for (std::size_t axis = 0; axis < axis_count; ++axis) null.at[axis] = tables.axes[axis].data();
  return null;
}

Search search(const Survey& survey, const Tables& tables, const Baseline& all,
              std::span<const float> recorded) {
  Search out;
  const Baseline rows = thinned(all, sampled_rows);
  const std::vector<Chosen> useful = try_singles(survey, tables, rows, recorded, out);
  std::vector<Scored> singles = out.best;
  try_pairs(survey, tables, rows, recorded, useful, out);
  keep_best(out.best);
  for (const Scored& single : singles) {  // pairs may fill the list, and a single explain as much
    const auto known = std::any_of(out.best.begin(), out.best.end(), [&](const Scored& scored) {
      return scored.hypothesis.at == single.hypothesis.at;
    });
    if (!known && single.score.explained > 0) out.best.push_back(single);
  }
  if (rows.rows.size() < all.rows.size())
    for (Scored& scored : out.best) {
      const double cost = scored.score.bits() - scored.net;
      scored.score = score_of(survey, scored.hypothesis, all, recorded);
      scored.net = scored.score.bits() - cost;
    }
  std::stable_sort(out.best.begin(), out.best.end(),
                   [](const Scored& a, const Scored& b) { return a.net > b.net; });
  return out;
}

}  // namespace drift::hypothesis
