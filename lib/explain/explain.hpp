#pragma once

// Which named cause makes a recorded tensor's drift vanish. Pure: arrays in, findings out; rank 0.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "explain/survey.hpp"

namespace drift {

/// The columns to look up before the survey is made: the target first, then what column faults would have
/// read. `targets`: as stored (or shifted), also of inactive rows; a target outside [0, vocab) is no column.
std::vector<ColumnPick> columns_to_pick(std::span<const std::int64_t> targets,
                                        std::span<const Range> sequences, std::int64_t vocab,
                                        std::int64_t padded_vocab);

/// A few whole rows, for what has to be fitted.
struct SampleRow {
  std::int64_t row = 0;
  std::vector<float> widened;  ///< [vocab] stored values, fp32
};
/// Which rows: at most `most` compared rows, spread over the dump.
std::vector<std::int64_t> rows_to_sample(std::span<const std::uint8_t> use, std::size_t most);

/// A temperature (order f32, one for all rows) or a truncation under which the sampled rows' recorded values
/// come out within their tolerance; else a round one under which they do beside one other cause (negated,
/// another column, ...); empty: none does, or what is audited already does.
std::optional<double> fitted_temperature(std::span<const SampleRow> samples, const Survey& survey,
                                         std::span<const float> recorded);
std::optional<Truncation> fitted_truncation(std::span<const SampleRow> samples, const Survey& survey,
                                            std::span<const float> recorded);

struct Cause {
  std::string id;      ///< "padding_in_lse", "temperature_native", ...; pairs: two ids
  std::string what;    ///< "padded columns are in the log-sum-exp"
  std::string remedy;  ///< "mask columns >= 151669 before the log-softmax"
};

/// One hypothesis (one or two causes) and how well it fits.
struct Candidate {
  std::vector<Cause> causes;  ///< empty: the log-probs as audited
  std::size_t variant = 0;    ///< of the survey: what registry formulas would have to run under
  bool with_padding = false;
  std::int64_t bits = 0;                               ///< rows reproduced bit for bit
  std::int64_t within = 0;                             ///< rows within the tolerance of fp32 arithmetic
  double residual_mean_abs = 0, residual_max_abs = 0;  ///< recorded - predicted, nats
  std::string formula;  ///< the registry formula or form whose bits match best; "" if none was tried
};

/// Parts of recorded - oracle, per row in this order: they add up to it.
struct Part {
  std::string
      name;  ///< input_rounding | formula_order | temperature | domain | alignment | output_rounding | rest
  double mean = 0, mean_abs = 0;
};

/// `several` with one candidate: it fits, but too few different values were recorded to be sure of it.
enum class Finding { exact, formula_order, noise, cause, several, nothing };

struct Explanation {
  Finding finding = Finding::nothing;
  std::int64_t rows = 0;      ///< compared
  std::int64_t drifting = 0;  ///< outside the tolerance of fp32 arithmetic as audited
  std::vector<Candidate>
      best;  ///< those that explain equally well, simplest first; no cause found: as audited
  std::vector<Candidate> others;      ///< the next ones, best first, at most 8
  std::vector<std::string> excluded;  ///< ids that were tried and explain nothing
  std::vector<std::string>
      untestable;  ///< "temperature: the dump says none", why a hypothesis could not be told apart here
  std::vector<Part> parts;
  std::vector<std::string>
      looks;  ///< if nothing explains it: "one-signed: ...", "on the bf16 lattice", "at sequence edges"
  std::string sentence;  ///< found, how many tokens of how many, what is left, what to change
};

/// `recorded`: [rows]. Uses whatever `survey.formulas` holds; call again after formulas were run for
/// `best.front()`.
Explanation explain(const Survey& survey, std::span<const float> recorded);

}  // namespace drift
