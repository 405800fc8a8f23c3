#pragma once

// Drift as a sum of named parts. Private to lib/explain.

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "explain/forms.hpp"

namespace drift::hypothesis {

inline constexpr std::array part_names{"input_rounding", "formula_order",   "temperature", "domain",
                                       "alignment",      "output_rounding", "rest"};
using RowParts = std::array<double, part_names.size()>;

/// Parts of recorded - audited log-prob of one row. One axis of the hypothesis after the other is switched
/// on, so they add up; a row without a prediction is `rest` alone. Truncation is domain.
RowParts row_parts(const Survey& survey, const Hypothesis& null, const Hypothesis& best, const Form& form,
                   std::size_t row, float recorded);

std::vector<Part> parts_of(const Survey& survey, const Hypothesis& null, const Hypothesis& best,
                           const Form& form, std::span<const std::size_t> rows,
                           std::span<const float> recorded);

}  // namespace drift::hypothesis
