#include "explain/looks.hpp"

#include <algorithm>
#include <cmath>

#include "explain/numbers.hpp"

namespace drift::hypothesis {
namespace {

struct Drifting {
  std::vector<std::size_t> index;  // into the baseline
  std::vector<double> d;           // recorded - audited
};

Drifting drifting_of(const Baseline& baseline, std::span<const float> recorded) {
  Drifting out;
  for (std::size_t i = 0; i < baseline.rows.size(); ++i)
    if (baseline.fit[i] != Fit::exact) {
      out.index.push_back(i);
      out.d.push_back(static_cast<double>(recorded[baseline.rows[i]]) - baseline.outcome[i].value);
    }
  return out;
}

std::int64_t positive(const Drifting& drifting) {
  return std::count_if(drifting.d.begin(), drifting.d.end(), [](double d) { return d > 0; });
}

// Signs of a fair coin differ by more than three times the root of their number once in 370 dumps.
bool is_one_signed(const Drifting& drifting) {
  const auto n = static_cast<double>(drifting.d.size());
  return n >= 10 && std::fabs(2 * static_cast<double>(positive(drifting)) - n) > 3 * std::sqrt(n);
}

double middle(std::vector<double> values) {
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), half, values.end());
  return *half;
}

void look_at_size(const Drifting& drifting, const Baseline& baseline, std::vector<std::string>& looks) {
  const auto [least, most] = std::minmax_element(drifting.d.begin(), drifting.d.end());
  double width = 0, least_ratio = HUGE_VAL, most_ratio = -HUGE_VAL;
  for (std::size_t k = 0; k < drifting.d.size(); ++k) {
    const Outcome& audited = baseline.outcome[drifting.index[k]];
    width = std::fmax(width, audited.width);
    const double ratio = drifting.d[k] / audited.value;
    least_ratio = std::fmin(least_ratio, ratio);
    most_ratio = std::fmax(most_ratio, ratio);
  }
  if (drifting.d.size() < 3) return;
  if (*most - *least <= 2 * width)
    looks.push_back("a constant offset of " + about(*least) + " nats");
  else if (most_ratio - least_ratio <= 0.02 * std::fabs(most_ratio))
    looks.push_back("proportional to the log-prob (recorded = " +
                    shortest(static_cast<float>(1 + most_ratio)) + " times it)");
}

void look_at_lattice(const Baseline& baseline, std::span<const float> recorded,
                     std::vector<std::string>& looks) {
  for (const Dtype dtype : {Dtype::BF16, Dtype::F16}) {
    const bool on = std::all_of(baseline.rows.begin(), baseline.rows.end(), [&](std::size_t row) {
      return rounded_to(dtype, recorded[row]) == recorded[row];
    });
    if (!on || baseline.rows.size() < 3) continue;
    looks.push_back("all recorded values are on the " + std::string(name(dtype)) + " lattice");
    return;
  }
}

void look_at_order(const Baseline& baseline, std::span<const float> recorded,
                   std::vector<std::string>& looks) {
  std::vector<double> audited, seen;
  double width = 0;
  for (std::size_t i = 0; i < baseline.rows.size(); ++i) {
    audited.push_back(baseline.outcome[i].value);
    seen.push_back(static_cast<double>(recorded[baseline.rows[i]]));
    width = std::fmax(width, baseline.outcome[i].width);
  }
  std::sort(audited.begin(), audited.end());
  std::sort(seen.begin(), seen.end());
  const bool equal = std::equal(audited.begin(), audited.end(), seen.begin(),
                                [&](double a, double b) { return std::fabs(a - b) <= width / 2; });
  if (equal && baseline.rows.size() >= 3)
    looks.push_back("the same values in another order (a permutation of rows)");
}

// More often than chance among the rows for which `is_edge`.
template <class IsEdge>
void look_at_stratum(const char* where, const Drifting& drifting, const Baseline& baseline,
                     const IsEdge& is_edge, std::vector<std::string>& looks) {
  std::int64_t rows = 0, hits = 0;
  for (const std::size_t row : baseline.rows) rows += is_edge(row);
  for (const std::size_t i : drifting.index) hits += is_edge(baseline.rows[i]);
  const auto n = static_cast<double>(drifting.d.size());
  const double share = static_cast<double>(rows) / static_cast<double>(baseline.rows.size());
  if (hits < 2 || static_cast<double>(hits) < 0.8 * n || share > 0.5) return;
  looks.push_back(text_of(hits) + " of " + counted(static_cast<std::int64_t>(n), "drifting token") + " are " +
                  where);
}

void look_at_places(const Survey& survey, const Drifting& drifting, const Baseline& baseline,
                    std::vector<std::string>& looks) {
  std::vector<std::uint8_t> at_end(survey.use.size()), at_mask(survey.use.size());
  for (const Range& sequence : survey.sequences) {
    if (sequence.empty()) continue;
    at_end[static_cast<std::size_t>(sequence.begin)] = at_end[static_cast<std::size_t>(sequence.end - 1)] = 1;
    for (std::int64_t row = sequence.begin; row < sequence.end; ++row) {
      const auto r = static_cast<std::size_t>(row);
      const bool starts = row > sequence.begin && survey.active[r - 1] != survey.active[r];
      const bool ends = row + 1 < sequence.end && survey.active[r + 1] != survey.active[r];
      at_mask[r] = starts || ends;
    }
  }
  look_at_stratum(
      "first or last in their sequence", drifting, baseline, [&](std::size_t r) { return at_end[r] != 0; },
      looks);
  look_at_stratum(
      "at an edge of the mask", drifting, baseline, [&](std::size_t r) { return at_mask[r] != 0; }, looks);
}

void look_at_growth(const Drifting& drifting, const Baseline& baseline, std::vector<std::string>& looks) {
  if (drifting.d.size() < 12) return;
  std::vector<double> sizes;
  for (const std::size_t i : drifting.index) sizes.push_back(std::fabs(baseline.outcome[i].value));
  const double split = middle(sizes);
  std::vector<double> near, far;
  for (std::size_t k = 0; k < sizes.size(); ++k)
    (sizes[k] < split ? near : far).push_back(std::fabs(drifting.d[k]));
  if (near.empty() || far.empty()) return;
  const double ratio = middle(far) / middle(near);
  if (ratio >= 3)
    looks.push_back("grows with |logp| (" + about(ratio) + " times larger for the less likely half)");
}

}  // namespace

double median_sigmas(const Survey& survey, const Baseline& baseline, std::span<const float> recorded) {
  if (survey.sigma.empty() || baseline.rows.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> ratios;
  for (std::size_t i = 0; i < baseline.rows.size(); ++i) {
    const auto sigma = static_cast<double>(survey.sigma[baseline.rows[i]]);
    const double d = std::fabs(static_cast<double>(recorded[baseline.rows[i]]) - baseline.outcome[i].value);
    ratios.push_back(d == 0 ? 0 : sigma > 0 ? d / sigma : HUGE_VAL);
  }
  return middle(std::move(ratios));
}

NoiseLook noise_look(const Survey& survey, const Baseline& baseline, std::span<const float> recorded) {
  NoiseLook out;
  const Drifting drifting = drifting_of(baseline, recorded);
  if (drifting.d.empty() || survey.sigma.empty()) return out;
  std::vector<double> ratios;
  for (std::size_t k = 0; k < drifting.d.size(); ++k) {
    const auto sigma = static_cast<double>(survey.sigma[baseline.rows[drifting.index[k]]]);
    ratios.push_back(sigma > 0 ? std::fabs(drifting.d[k]) / sigma : HUGE_VAL);
    out.most = std::fmax(out.most, ratios.back());
  }
  out.median = middle(ratios);
  out.is_noise = out.most <= 6 && out.median <= 4 && !is_one_signed(drifting);
  return out;
}

std::vector<std::string> looks_of(const Survey& survey, const Baseline& baseline,
                                  std::span<const float> recorded) {
  std::vector<std::string> looks;
  const Drifting drifting = drifting_of(baseline, recorded);
  if (drifting.d.empty()) return looks;
  const auto n = static_cast<std::int64_t>(drifting.d.size()), up = positive(drifting);
  if (is_one_signed(drifting) || (n >= 5 && (up == 0 || up == n)))
    looks.push_back("one-signed: " + text_of(std::max(up, n - up)) + " of " + counted(n, "drifting token") +
                    (up > n - up ? " recorded too high" : " recorded too low"));
  look_at_order(baseline, recorded, looks);
  look_at_size(drifting, baseline, looks);
  look_at_lattice(baseline, recorded, looks);
  look_at_places(survey, drifting, baseline, looks);
  look_at_growth(drifting, baseline, looks);
  return looks;
}

}  // namespace drift::hypothesis
