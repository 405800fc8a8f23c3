#pragma once

// Scores every hypothesis and keeps those that matter. Private to lib/explain.

#include <string>
#include <vector>

#include "explain/score.hpp"

namespace drift::hypothesis {

struct Scored {
  Hypothesis hypothesis;
  Score score;
  double net = 0;  ///< evidence in bits, less what choosing among so many hypotheses costs
};

struct Search {
  std::vector<Scored> best;  ///< by net evidence: at most 24, and all singles that explain anything
  std::vector<std::string> excluded, untestable;
};

Hypothesis null_of(const Tables& tables);

/// Singles and pairs on `sample`, then the best again on `all`.
Search search(const Survey& survey, const Tables& tables, const Baseline& all,
              std::span<const float> recorded);

}  // namespace drift::hypothesis
