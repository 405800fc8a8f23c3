#pragma once

// Mean and variance in one pass without the cancellation of a sum of squares (Welford). Private to lib/stats.

#include <cmath>
#include <limits>

namespace drift {

/// Of finite values; an infinite one makes both NaN.
class Moments {
 public:
  /// `share`: 1 / (how many values there are with this one); callers with several moments divide once.
  void add(double x, double share) {
    const double delta = x - mean_;
    mean_ += delta * share;
    squares_ += delta * (x - mean_);
  }

  double mean() const { return mean_; }
  double squares() const { return squares_; }  ///< sum of squared deviations from the mean
  double std_n(double count) const { return std::sqrt(squares_ / count); }
  /// NaN for one value: it has none.
  double std_n_less_1(double count) const {
    return count < 2 ? std::numeric_limits<double>::quiet_NaN() : std::sqrt(squares_ / (count - 1));
  }

 private:
  double mean_ = 0, squares_ = 0;
};

}  // namespace drift
