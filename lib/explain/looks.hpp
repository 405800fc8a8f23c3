#pragma once

// What an unexplained drift looks like, and whether it can be noise. Private to lib/explain.

#include <span>
#include <string>
#include <vector>

#include "explain/score.hpp"

namespace drift::hypothesis {

struct NoiseLook {
  bool is_noise = false;
  double median = 0, most = 0;  ///< |d| / sigma of the drifting rows
};
/// Median |d| / sigma of all compared rows; NaN: unknown.
double median_sigmas(const Survey& survey, const Baseline& baseline, std::span<const float> recorded);

/// Noise: within 6 sigma everywhere, 4 in the median (a step of one ulp in the target's logit alone is sqrt
/// 12 = 3.5 of them), and not of one sign.
NoiseLook noise_look(const Survey& survey, const Baseline& baseline, std::span<const float> recorded);

std::vector<std::string> looks_of(const Survey& survey, const Baseline& baseline,
                                  std::span<const float> recorded);

}  // namespace drift::hypothesis
