// The one temperature under which sampled rows' recorded values come out. With beta = 1/T and
//   g(beta) = beta x_t - log sum_v exp(beta x_v),   g'(beta) = x_t - E_p[x],   g is concave:
// up to two roots a row, found by Newton from both sides; the temperature is where roots of many rows meet.

#include <algorithm>
#include <cmath>

#include "explain/explain.hpp"
#include "explain/fit_beside.hpp"
#include "explain/hypotheses.hpp"
#include "explain/score.hpp"

namespace drift {
namespace {

using hypothesis::tolerance_of;

struct FitRow {
  std::vector<double> x;  // finite values
  double target = 0, recorded = 0, max = 0, audited_beta = 1;
};

struct Moment {
  double lse, mean;
};

Moment moment(const FitRow& row, double beta) {
  double sum = 0, first = 0;
  for (const double x : row.x) {
    const double e = std::exp(beta * (x - row.max));
    sum += e;
    first += e * (x - row.max);
  }
  return {beta * row.max + std::log(sum), row.max + first / sum};
}

std::vector<FitRow> fit_rows(std::span<const SampleRow> samples, const Survey& survey,
                             std::span<const float> recorded) {
  std::vector<FitRow> rows;
  for (const SampleRow& sample : samples) {
    const auto r = static_cast<std::size_t>(sample.row);
    const float target = survey.columns[0].stored[r];
    if (!std::isfinite(target) || !std::isfinite(recorded[r]) || !(recorded[r] < 0.0f)) continue;
    FitRow row;
    row.max = -HUGE_VAL;
    for (const float x : sample.widened)
      if (std::isfinite(x) && x >= mask_floor) {
        row.x.push_back(static_cast<double>(x));
        row.max = std::fmax(row.max, row.x.back());
      }
    row.target = static_cast<double>(target);
    row.recorded = static_cast<double>(recorded[r]);
    row.audited_beta =
        1 / static_cast<double>(survey.temperature.empty() ? survey.variants[0].rule.temperature
                                                           : survey.temperature[r]);
    if (!row.x.empty()) rows.push_back(std::move(row));
  }
  return rows;
}

// Newton on a concave function from the side where it cannot overshoot the top; NaN if it leaves [1/64, 64].
double root_from(const FitRow& row, double beta) {
  for (int step = 0; step < 40; ++step) {
    const Moment m = moment(row, beta);
    const double off = beta * row.target - m.lse - row.recorded, slope = row.target - m.mean;
    const double next = beta - off / slope;
    if (!(next > 1.0 / 64 && next < 64)) return std::nan("");
    if (std::fabs(next - beta) <= 1e-12 * beta) return next;
    beta = next;
  }
  return std::nan("");
}

bool comes_out(const FitRow& row, double beta) {
  const double lse = moment(row, beta).lse, logp = beta * row.target - lse;
  const double tolerance = tolerance_of(beta * row.target, lse, logp);
  if (std::fabs(row.recorded - logp) <= tolerance) return true;
  for (const Dtype dtype : {Dtype::BF16, Dtype::F16}) {
    const auto to = [dtype](double v) {
      return static_cast<double>(rounded_to(dtype, static_cast<float>(v)));
    };
    if (row.recorded >= to(logp - tolerance) && row.recorded <= to(logp + tolerance)) return true;
  }
  return false;
}

std::size_t hits(const std::vector<FitRow>& rows, double beta) {
  return static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [&](const FitRow& row) { return comes_out(row, beta); }));
}

// Medians of the densest stretches of the roots, for roots that agree to several relative precisions.
std::vector<double> meeting_points(std::vector<double> roots) {
  std::vector<double> out;
  std::sort(roots.begin(), roots.end());
  for (const double precision : {1e-6, 1e-4, 1e-2, 5e-2}) {
    std::size_t best = 0, begin = 0, most = 0;
    for (std::size_t first = 0, last = 0; first < roots.size(); ++first) {
      while (last < roots.size() && roots[last] <= roots[first] * (1 + precision)) ++last;
      if (last - first > most) {
        most = last - first;
        begin = first;
      }
    }
    best = begin + most / 2;
    if (most >= 2) out.push_back(roots[best]);
  }
  return out;
}

}  // namespace

std::optional<double> fitted_temperature(std::span<const SampleRow> samples, const Survey& survey,
                                         std::span<const float> recorded) {
  if (!survey.variants[0].truncation.is_off()) return std::nullopt;
  const std::vector<FitRow> rows = fit_rows(samples, survey, recorded);
  if (rows.size() < 3) return hypothesis::temperature_beside(samples, survey, recorded);
  std::vector<double> roots;
  for (const FitRow& row : rows)
    for (const double start : {1.0 / 32, row.audited_beta, 8.0}) {
      const double root = root_from(row, start);
      if (!std::isnan(root)) roots.push_back(root);
    }
  double best = 0;
  std::size_t most = 0;
  for (const double beta : meeting_points(roots)) {
    // Decimals of few digits first: a raw root must fit better to be taken.
    std::vector<double> temperatures;
    for (const double scale : {10.0, 100.0, 1000.0}) temperatures.push_back(std::round(scale / beta) / scale);
    temperatures.push_back(static_cast<double>(static_cast<float>(1 / beta)));
    for (const double t : temperatures) {
      const std::size_t count = t > 0 ? hits(rows, 1 / t) : 0;
      if (count > most) {
        most = count;
        best = t;
      }
    }
  }
  std::size_t audited = 0;
  for (const FitRow& row : rows) audited += comes_out(row, row.audited_beta);
  if (most < 3 || 2 * most < rows.size() || most <= audited)
    return hypothesis::temperature_beside(samples, survey, recorded);
  const double t = 1 / rows[0].audited_beta;  // what the survey tries anyway needs no fit
  for (const double known : {1.0, t, t * t})
    if (std::fabs(best - known) <= 1e-6 * known) return std::nullopt;
  return best;
}

}  // namespace drift
