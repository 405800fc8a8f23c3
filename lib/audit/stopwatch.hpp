#pragma once

// How long each phase took: for run.json and the progress line, never for a report that is compared.

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace drift {

class Stopwatch {
 public:
  double seconds() const { return since(start_); }
  /// Close the phase that began at the last call (or at construction).
  void lap(std::string phase) {
    laps_.emplace_back(std::move(phase), since(lap_));
    lap_ = Clock::now();
  }
  const std::vector<std::pair<std::string, double>>& laps() const { return laps_; }

 private:
  using Clock = std::chrono::steady_clock;
  static double since(Clock::time_point then) {
    return std::chrono::duration<double>(Clock::now() - then).count();
  }

  Clock::time_point start_ = Clock::now(), lap_ = start_;
  std::vector<std::pair<std::string, double>> laps_;
};

}  // namespace drift
