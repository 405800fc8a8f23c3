#pragma once

#include <string>

#include "explain/explain.hpp"
#include "explain/looks.hpp"

namespace drift::hypothesis {

/// What the sentence needs and an Explanation does not hold.
struct Counts {
  std::int64_t explained = 0, left_to_noise = 0, left = 0, unpredicted = 0;
  double to_within = 0;
  std::int64_t few_values = 0;  ///< so many distinct values only were recorded; 0: enough of them
  double median_sigmas = 0;     ///< |d| of all compared rows
  NoiseLook noise;
  std::string logits_dtype;
};

/// One sentence of plain English. Private to lib/explain.
std::string sentence_of(const Explanation& explanation, const Counts& counts);

}  // namespace drift::hypothesis
