// What a sampler kept, from what renormalising over it did: recorded - full log-prob = -log(kept mass), a
// row. Each row allows an interval of k, of p and of min-p; the truncation is where the intervals of nearly
// all rows meet.

#include <algorithm>
#include <cmath>

#include "explain/explain.hpp"
#include "explain/fit_beside.hpp"
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

// The shortest decimals in an interval, at most eight, shortest first; its upper end is the last.
std::vector<double> decimals_in(Interval interval) {
  std::vector<double> out;
  for (double scale = 10; scale < 1e13 && out.size() < 7; scale *= 10)
    for (double n = std::floor(interval.upto * scale); n / scale > interval.after && n > 0 && out.size() < 7;
         --n)
      if (std::find(out.begin(), out.end(), n / scale) == out.end()) out.push_back(n / scale);
  out.push_back(interval.upto);
  return out;
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

Dtype lattice_of(std::span<const float> recorded, const Survey& survey) {
  bool bf16 = true, f16 = true;
  for (std::size_t row = 0; row < recorded.size(); ++row) {
    if (!survey.use[row]) continue;
    bf16 = bf16 && rounded_to(Dtype::BF16, recorded[row]) == recorded[row];
    f16 = f16 && rounded_to(Dtype::F16, recorded[row]) == recorded[row];
  }
  return bf16 ? Dtype::BF16 : f16 ? Dtype::F16 : Dtype::F32;
}

// Half an ulp.
double rounding_of(Dtype lattice, double value) {
  if (lattice == Dtype::F32 || value == 0) return 0;
  return std::ldexp(1.0, std::ilogb(value) - (lattice == Dtype::BF16 ? 8 : 11));
}

// A sampled row, and what was recorded of it.
struct FitRow {
  std::vector<float> x;
  double target = 0, recorded = 0;
};

bool comes_out(const FitRow& row, const Truncation& truncation, Dtype lattice) {
  const double lse = kept_lse(row.x, truncation), logp = row.target - lse;
  const double tolerance = hypothesis::tolerance_of(row.target, lse, logp);
  const auto to = [lattice](double v) {
    return static_cast<double>(rounded_to(lattice, static_cast<float>(v)));
  };
  if (lattice == Dtype::F32) return std::fabs(row.recorded - logp) <= tolerance;
  return to(logp - tolerance) <= row.recorded && row.recorded <= to(logp + tolerance);
}

// What stands in the intervals where most rows meet. A rounded output leaves them wide: all k of them, and
// decimals of p and of min-p. Round numbers come first.
std::vector<Truncation> candidates_of(const std::vector<RowIntervals>& rows, std::size_t tried) {
  constexpr double most_tops = 32;
  std::vector<Truncation> out;
  const auto enough = [&](const Meeting& m) { return m.truncated >= 2 && 4 * m.rows >= 3 * tried; };
  if (const Meeting k = meeting_of(rows, &RowIntervals::k); enough(k)) {
    const double first = k.where.after + 1, last = std::fmin(k.where.upto, first + most_tops);
    for (double top = first; top <= last; ++top) out.push_back({static_cast<std::int64_t>(top), 1, 0});
  }
  if (const Meeting p = meeting_of(rows, &RowIntervals::p); enough(p))
    for (const double value : decimals_in(p.where)) out.push_back({0, value, 0});
  if (const Meeting p = meeting_of(rows, &RowIntervals::min_p); enough(p))
    for (const double value : decimals_in(p.where)) out.push_back({0, 1, value});
  std::stable_partition(out.begin(), out.end(), [](const Truncation& t) { return hypothesis::is_round(t); });
  return out;
}

}  // namespace

std::optional<Truncation> fitted_truncation(std::span<const SampleRow> samples, const Survey& survey,
                                            std::span<const float> recorded) {
  const Dtype lattice = lattice_of(recorded, survey);
  std::vector<RowIntervals> intervals;
  std::vector<FitRow> rows;
  for (const SampleRow& sample : samples) {
    const auto r = static_cast<std::size_t>(sample.row);
    FitRow row;
    row.target = hypothesis::picked_value(survey, 0, 0, r);
    row.recorded = static_cast<double>(recorded[r]);
    if (!std::isfinite(row.target) || !std::isfinite(recorded[r])) continue;
    for (const float stored : sample.widened) {
      const float value = hypothesis::value_under(survey, 0, stored, r);
      if (std::isfinite(value)) row.x.push_back(value);
    }
    if (const auto one = intervals_of({row.x.begin(), row.x.end()}, row.target, row.recorded,
                                      rounding_of(lattice, row.recorded)))
      intervals.push_back(*one);
    rows.push_back(std::move(row));
  }
  Truncation best;
  std::int64_t most = 0;
  for (const Truncation& truncation : candidates_of(intervals, rows.size())) {
    const auto hits = std::count_if(rows.begin(), rows.end(),
                                    [&](const FitRow& row) { return comes_out(row, truncation, lattice); });
    if (hits <= most || truncation == survey.variants[0].truncation || truncation.is_off()) continue;
    most = hits;
    best = truncation;
  }
  if (4 * most >= 3 * static_cast<std::int64_t>(rows.size()) && most > 0) return best;
  return hypothesis::truncation_beside(samples, survey, recorded);
}

}  // namespace drift
