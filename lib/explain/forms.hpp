#pragma once

// Which order of fp32 operations reproduces recorded bits: registry formulas that were run, and the exact
// forms. Private to lib/explain.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "explain/score.hpp"

namespace drift::hypothesis {

/// One way from a row's numbers to an fp32 log-prob.
struct Form {
  std::string id;
  std::size_t variant = 0;
  const Survey::FormulaRows* formula = nullptr;  ///< else what `id` says
};

/// fp32 log-prob before the output axis, NaN if there is none.
float logp_in_form(const Survey& survey, const Hypothesis& hypothesis, const Form& form, std::size_t row);

struct BestForm {
  Form form;
  std::int64_t bits = 0;  ///< rows reproduced bit for bit
};
/// The form that reproduces most of `rows`; registry formulas before the exact forms, then in order.
BestForm best_form(const Survey& survey, const Hypothesis& hypothesis, std::span<const std::size_t> rows,
                   std::span<const float> recorded);

}  // namespace drift::hypothesis
