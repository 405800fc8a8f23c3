// What a sampler kept, from what renormalising over it did: recorded - full log-prob = -log(kept mass), a
// row. Each row allows an interval of k, of p and of min-p; the truncation is where the intervals of nearly
// all rows meet.

#include <algorithm>
#include <cmath>

#include "explain/explain.hpp"
#include "explain/hypotheses.hpp"
#include "explain/score.hpp"

namespace drift {
namespace {

struct Interval {
  double after = 0, upto = 0;  // (after, upto]
};

struct RowIntervals {
  Interval k, p, min_p;
  bool is_truncated = false;
};

struct Meeting {
  Interval where;
  std::size_t rows = 0, truncated = 0;
};

// Where most intervals overlap: some interval's upper end is in that stretch.
Meeting meeting_of(const std::vector<RowIntervals>& rows, Interval RowIntervals::*which) {
  Meeting best;
  for (const RowIntervals& one : rows) {
    const double point = (one.*which).upto;
    Meeting here{{-HUGE_VAL, HUGE_VAL}, 0, 0};
    for (const RowIntervals& row : rows) {
      const Interval& interval = row.*which;
      if (!(interval.after < point && point <= interval.upto)) continue;
      here.where = {std::fmax(here.where.after, interval.after), std::fmin(here.where.upto, interval.upto)};
      ++here.rows;
      here.truncated += row.is_truncated;
    }
    if (here.rows > best.rows) best = here;
  }
  return best;
}

double shortest_decimal(Interval interval) {
  for (double scale = 10; scale < 1e13; scale *= 10) {
    const double value = std::floor(interval.upto * scale) / scale;
    if (value > interval.after && value > 0) return value;
  }
  return interval.upto;
}

// The intervals of one row; none if no kept set gives the recorded value.
std::optional<RowIntervals> intervals_of(std::vector<double> x, double target, double recorded,
                                         double rounding) {
  std::sort(x.begin(), x.end(), std::greater<>());
  std::vector<double> cumulative(x.size());
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) cumulative[i] = sum += std::exp(x[i] - x[0]);
  const double lse = x[0] + std::log(sum), log_mass = target - lse - recorded;  // log of the kept mass
  const double slack = hypothesis::tolerance_of(target, lse, recorded) + rounding;
  const double low = sum * std::exp(log_mass - slack), high = sum * std::exp(log_mass + slack);
  // Kept counts [fewest, most]: their mass is the recorded one, and the target is among them.
  const auto begin = cumulative.begin();
  auto fewest = static_cast<std::size_t>(std::lower_bound(begin, cumulative.end(), low) - begin) + 1;
  const auto most = static_cast<std::size_t>(std::upper_bound(begin, cumulative.end(), high) - begin);
  const auto rank =
      static_cast<std::size_t>(std::lower_bound(x.begin(), x.end(), target, std::greater<>()) - x.begin());
  fewest = std::max(fewest, rank + 1);
  if (fewest > most || fewest > x.size()) return std::nullopt;
  RowIntervals out;
  out.is_truncated = most < x.size();
  const auto mass = [&](std::size_t count) { return count == 0 ? 0.0 : cumulative[count - 1] / sum; };
  out.p = {mass(fewest - 1), most == x.size() ? 1.0 : mass(most)};
  // Ties are kept together by top-k and min-p: groups of equal values that end within [fewest, most].
  std::size_t first_end = fewest, last_end = most;
  while (first_end < x.size() && x[first_end] == x[first_end - 1]) ++first_end;
  while (last_end > 0 && last_end < x.size() && x[last_end] == x[last_end - 1]) --last_end;
  if (first_end > last_end) {
    out.k = out.min_p = {HUGE_VAL, -HUGE_VAL};
    return out;
  }
  std::size_t first_begin = first_end;
  while (first_begin > 1 && x[first_begin - 2] == x[first_end - 1]) --first_begin;
  const bool is_all = last_end == x.size();
  out.k = {static_cast<double>(first_begin) - 1, is_all ? HUGE_VAL : static_cast<double>(last_end)};
  out.min_p = {is_all ? -1 : std::exp(x[last_end] - x[0]), std::exp(x[first_end - 1] - x[0])};
  return out;
}

double rounding_of(std::span<const float> recorded, const Survey& survey, double value) {
  bool bf16 = true, f16 = true;
  for (std::size_t row = 0; row < recorded.size(); ++row) {
    if (!survey.use[row]) continue;
    bf16 = bf16 && rounded_to(Dtype::BF16, recorded[row]) == recorded[row];
    f16 = f16 && rounded_to(Dtype::F16, recorded[row]) == recorded[row];
  }
  return bf16 ? std::fabs(value) * 0x1p-8 : f16 ? std::fabs(value) * 0x1p-11 : 0;
}

}  // namespace

std::optional<Truncation> fitted_truncation(std::span<const SampleRow> samples, const Survey& survey,
                                            std::span<const float> recorded) {
  std::vector<RowIntervals> rows;
  std::size_t tried = 0;
  for (const SampleRow& sample : samples) {
    const auto r = static_cast<std::size_t>(sample.row);
    const double target = hypothesis::picked_value(survey, 0, 0, r);
    if (!std::isfinite(target) || !std::isfinite(recorded[r])) continue;
    std::vector<double> x;
    for (const float stored : sample.widened) {
      const float value = hypothesis::value_under(survey, 0, stored, r);
      if (std::isfinite(value)) x.push_back(static_cast<double>(value));
    }
    ++tried;
    const auto value = static_cast<double>(recorded[r]);
    const auto intervals = intervals_of(std::move(x), target, value, rounding_of(recorded, survey, value));
    if (intervals) rows.push_back(*intervals);
  }
  const Meeting k = meeting_of(rows, &RowIntervals::k), p = meeting_of(rows, &RowIntervals::p),
                min_p = meeting_of(rows, &RowIntervals::min_p);
  const Meeting& best = k.rows >= p.rows && k.rows >= min_p.rows ? k : p.rows >= min_p.rows ? p : min_p;
  if (best.truncated < 2 || 4 * best.rows < 3 * tried) return std::nullopt;
  Truncation out;
  if (&best == &k)
    out.top_k = static_cast<std::int64_t>(std::isfinite(k.where.upto) ? k.where.upto : k.where.after + 1);
  else if (&best == &p)
    out.top_p = shortest_decimal(p.where);
  else
    out.min_p = shortest_decimal(min_p.where);
  if (out == survey.variants[0].truncation || out.is_off()) return std::nullopt;
  return out;
}

}  // namespace drift
