#pragma once

// Named ways to read a dump wrongly, as data: five axes, each a table of options. A hypothesis takes one
// option of every axis; at most two are off their default. Private to lib/explain.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "explain/explain.hpp"
#include "explain/survey.hpp"

namespace drift::hypothesis {

enum class Axis : std::uint8_t { value, domain, column, row, output };
inline constexpr std::size_t axis_count = 5;

/// A row's numbers before the output axis; `row` is the row they are of, which row faults move.
struct Exact {
  double logit = 0, lse = 0, logp = 0;
  double tolerance = 0;  ///< what fp32 arithmetic may move `logp` by, nats
  std::size_t row = 0;
};

/// What would have been recorded: a value, and the interval that fp32 arithmetic can reach. NaN: no
/// prediction.
struct Outcome {
  double value = std::numeric_limits<double>::quiet_NaN(), low = 0, high = 0;
  double width = 0;        ///< of the interval in nats: the narrower, the more a hit says
  double noise_scale = 0;  ///< the row's sigma times this is the noise of `value`; 0: unknown
  bool is_read = false;    ///< `value` was taken from the recorded one: a hit says nothing of the other axes
};

/// One row of a table. Which fields count depends on the axis.
struct Option {
  Cause cause;                  ///< the default of an axis has none
  std::string why_not;          ///< not empty: this dump cannot tell it apart, and why
  bool fitted = false;          ///< has a number that was chosen to fit
  bool reads_recorded = false;  ///< says something only about rows whose recorded value stands out
  double pattern_bits = 0;      ///< what such rows are worth, whatever the other axes say
  int fixed_variant = -1;   ///< >= 0: known under this variant alone, so it does not pair with the value axis
  std::size_t variant = 0;  ///< value: of the survey
  std::function<double(std::size_t, std::size_t)> lse;  ///< domain: (variant, row) -> LSE
  std::function<double(std::size_t, std::size_t)>
      logit;                         ///< column (or a domain that moves columns too): the value
  std::vector<std::int64_t> source;  ///< row: whose value is recorded here; ~s: s, or 0 (an edge)
  std::function<Outcome(const Exact&, float recorded)> outcome;  ///< output
  Dtype lattice = Dtype::F32;                                    ///< output: what was rounded to
  bool is_a_step_off =
      false;  ///< output: on that lattice and within one step of the audited log-prob, all of
              ///< it: some way to round (down, to zero, at random) is enough to explain it
};

using Table = std::vector<Option>;  ///< [0]: as audited

struct Tables {
  std::array<Table, axis_count> axes;
};

/// One option of each axis.
struct Hypothesis {
  std::array<const Option*, axis_count> at{};
  const Option& operator[](Axis axis) const { return *at[static_cast<std::size_t>(axis)]; }
  int causes() const;
  std::size_t variant() const;
  bool with_padding() const { return (*this)[Axis::domain].cause.id == "padding_in_lse"; }
};

/// Every option that applies to this survey's kind, with its numbers filled in. `survey` and `recorded` must
/// outlive it.
Tables tables_of(const Survey& survey, std::span<const float> recorded);

Table value_table(const Survey& survey);
Table domain_table(const Survey& survey);
Table column_table(const Survey& survey);
Table row_table(const Survey& survey);
Table output_table(const Survey& survey, std::span<const float> recorded);

/// Numbers that a person would choose: top-k 50, top-p 0.95.
bool is_round(const Truncation& truncation);

/// Options that can stand in one hypothesis.
bool can_pair(const Option& a, const Option& b);

/// The value of column pick `pick` of a row under a variant; NaN: none, or not finite.
double picked_value(const Survey& survey, std::size_t variant, std::size_t pick, std::size_t row);
/// The same of any stored value.
float value_under(const Survey& survey, std::size_t variant, float stored, std::size_t row);
/// Index of a pick by id; the number of picks: there is none.
std::size_t pick_index(const Survey& survey, const std::string& id);
/// Index of a variant by id; 0: there is none.
std::size_t variant_index(const Survey& survey, const std::string& id);

}  // namespace drift::hypothesis
