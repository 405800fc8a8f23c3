#pragma once

// What the mismatch metrics need of one token, with as few exponentials as honest last digits allow. Private
// to lib/stats.

#include <algorithm>
#include <cmath>
#include <numbers>

namespace drift {

struct TokenTerms {
  double ratio_less_1 = 0;        ///< e^d - 1
  double ratio = 1, inverse = 1;  ///< e^d, e^-d
  double k3 = 0, k3_reverse = 0;  ///< e^d - d - 1, e^-d + d - 1
  double js = 0;  ///< (k3(a, m) + k3(b, m)) / 2 with m = log((e^a + e^b) / 2), which is log cosh(d / 2)
  double train_prob = 0, rollout_prob = 0, prob_diff = 0;  ///< e^a, e^b, |e^a - e^b|
};

/// log cosh(d / 2) for |d| <= 1/16.
inline double js_near_0(double d) {
  const double x2 = d * d / 4;
  return x2 * (1.0 / 2 - x2 * (1.0 / 12 - x2 * (1.0 / 45 - x2 * (17.0 / 2520))));
}

/// Relative error of each term: a few 2^-53, and at most 16 times that just above |d| = 1/16. Nothing is NaN,
/// whatever the two finite values are: probabilities and ratios that fp64 cannot hold are 0 or inf.
inline TokenTerms terms_of(double a, double b) {
  TokenTerms out;
  const double d = a - b, magnitude = std::fabs(d);
  out.rollout_prob = std::exp(b);
  if (magnitude == 0) {
    out.train_prob = out.rollout_prob;
    return out;
  }
  if (magnitude <=
      1.0 / 16) {  // one exponential; the two probabilities are close, so their difference is made of d
    // By their series, even and odd powers apart: taking e^d - d - 1 as it stands would leave eps / d of it.
    const double d2 = d * d;
    const double even = 1.0 / 2 + d2 * (1.0 / 24 + d2 * (1.0 / 720 + d2 * (1.0 / 40320)));
    const double odd = d * (1.0 / 6 + d2 * (1.0 / 120 + d2 * (1.0 / 5040)));
    out.k3 = d2 * (even + odd);
    out.k3_reverse = d2 * (even - odd);
    out.js = js_near_0(d);
    out.ratio_less_1 = d + out.k3;
    out.ratio = 1 + out.ratio_less_1;
    out.inverse = 1 + (out.k3_reverse - d);
    out.train_prob = out.rollout_prob * out.ratio;
    out.prob_diff = out.rollout_prob * std::fabs(out.ratio_less_1);
    return out;
  }
  out.train_prob = std::exp(a);
  out.prob_diff = std::fabs(out.train_prob - out.rollout_prob);
  if (std::isnan(out.prob_diff)) out.prob_diff = out.train_prob;  // both overflow: so does their difference
  // The quotient is e^d to 2 ulp, unless a probability is subnormal, 0 or inf and has lost its digits.
  constexpr double whole = 700;
  out.ratio = std::fabs(a) < whole && std::fabs(b) < whole ? out.train_prob / out.rollout_prob : std::exp(d);
  out.inverse = 1 / out.ratio;
  out.ratio_less_1 = out.ratio - 1;
  out.k3 = out.ratio_less_1 - d;
  out.k3_reverse = (out.inverse - 1) + d;
  out.js = magnitude / 2 - std::numbers::ln2 + std::log(1 + std::min(out.ratio, out.inverse));
  return out;
}

}  // namespace drift
