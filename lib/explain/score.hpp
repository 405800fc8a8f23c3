#pragma once

// How well a hypothesis predicts what was recorded. Private to lib/explain.

#include <cstdint>
#include <span>
#include <vector>

#include "explain/hypotheses.hpp"

namespace drift::hypothesis {

/// What fp32 arithmetic may move a log-prob by: four ulps at the largest operand, and what an exp and a log
/// may add.
double tolerance_of(double logit, double lse, double logp);

/// The numbers of one row under a hypothesis. `edge`: the row that a shift leaves without a source.
struct Row {
  Exact exact;
  bool edge = false;
};
Row row_under(const Survey& survey, const Hypothesis& hypothesis, std::size_t row);
/// The same with another variant.
Row row_under(const Survey& survey, const Hypothesis& hypothesis, std::size_t row, std::size_t variant);
/// What it says is recorded there.
Outcome outcome_of(const Survey& survey, const Hypothesis& hypothesis, std::size_t row, float recorded);

/// How close: to fp32 arithmetic, to what rounding the logits does (4 sigma), or neither.
enum class Fit : std::uint8_t { none, noise, exact };
Fit fit_of(const Survey& survey, const Outcome& outcome, Dtype lattice, std::size_t row, float recorded);

/// The log-probs as audited against what was recorded.
struct Baseline {
  std::vector<std::size_t> rows;  ///< compared
  std::vector<Outcome> outcome;   ///< one of each of `rows`
  std::vector<Fit> fit;
  std::int64_t drifting = 0;  ///< of `rows`: fit is not exact
};
/// Rows in use with a finite recorded value and a finite log-prob; `rows` empty: look for them.
Baseline baseline_of(const Survey& survey, const Hypothesis& null, std::span<const float> recorded);
/// At most `most` drifting rows and `most` rows of any kind, spread over the dump.
Baseline thinned(const Baseline& all, std::size_t most);

/// How the rows that a hypothesis leaves at noise lie: noise is of both signs.
struct Signs {
  std::int64_t up = 0, down = 0;
  /// Fair coins come out so lopsided once in some hundred dumps; of fewer than seven rows any may.
  bool is_one_signed() const;
};

/// Evidence is in bits: a row that a narrow prediction hits is worth log2(8 nats / width) of it, since a
/// wrong hypothesis would hit it by chance with about that probability.
struct Score {
  double exact_bits = 0, noise_bits = 0, lattice_bits = 0, pattern_bits = 0;
  std::int64_t within = 0;     ///< rows with an exact fit
  std::int64_t explained = 0;  ///< drifting rows that fit better, and not because the prediction hardly moved
  std::int64_t exactly = 0;    ///< of `explained`: with an exact fit that was not read off the recorded value
  std::int64_t read = 0;       ///< of `explained`: read off the recorded value
  std::int64_t clearly = 0;    ///< of `explained`: moved by more than noise could
  std::int64_t to_noise = 0;   ///< rows without an exact fit that noise can account for
  Signs noise_signs;           ///< of those
  std::int64_t unexplained = 0;  ///< rows, drifting or broken, that are further off than noise
  std::int64_t unpredicted = 0;  ///< drifting rows about which the hypothesis says nothing
  std::int64_t moved =
      0;  ///< rows where the prediction differs from the audited one by more than fp32 arithmetic
  double sum_abs = 0, max_abs = 0, max_explained = 0;  ///< recorded - predicted, nats
  double bits() const { return exact_bits + noise_bits + lattice_bits + pattern_bits; }
};
Score score_of(const Survey& survey, const Hypothesis& hypothesis, const Baseline& baseline,
               std::span<const float> recorded);

}  // namespace drift::hypothesis
