#pragma once

// What `explain` found, as plain structs: explain.json from top to bottom. A key that a failed run did not
// reach is an empty optional.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/report.hpp"

namespace drift {

struct ExplainReport {
  struct Cause {
    std::string id, what, remedy;
  };
  struct Residual {
    double mean_abs = 0, max_abs = 0;  ///< of recorded - predicted, nats
  };
  /// One hypothesis and how well it fits.
  struct Hypothesis {
    std::vector<Cause> causes;  ///< empty: the log-probs as audited
    std::int64_t bits = 0;      ///< rows reproduced bit for bit
    std::int64_t within = 0;    ///< rows within the tolerance of fp32 arithmetic
    Residual residual;
    std::string formula;  ///< whose bits match best; "": none was tried
  };
  /// Parts of recorded - oracle; they add up to it.
  struct Part {
    std::string name;
    double mean = 0, mean_abs = 0;
  };
  struct Finding {
    std::string name, dtype, digest;  ///< of the recorded tensor
    std::string finding;              ///< exact | formula_order | noise | cause | several | nothing
    std::string sentence;
    std::int64_t rows = 0, drifting = 0;
    std::vector<Hypothesis> best, others;
    std::vector<std::string> excluded, untestable;
    std::vector<Part> parts;
    std::vector<std::string> looks;
    Drift drift;  ///< against the oracle
    std::optional<Noise> noise;
  };

  std::string status = "failed";  ///< done | failed
  int exit_code = 8;
  NamedValues case_values;  ///< "case"
  std::vector<std::pair<std::string, std::string>> case_sources;
  std::string case_id;
  std::optional<AggregateReport::Topology> topology;
  std::optional<InputReport> input;
  std::optional<std::vector<Finding>> findings;
  Environment environment;
  std::optional<ErrorReport> error;
  std::string reproduce;
};

}  // namespace drift
