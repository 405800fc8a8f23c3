#include "explain/hypotheses.hpp"

#include <algorithm>
#include <cmath>

namespace drift::hypothesis {

int Hypothesis::causes() const {
  return static_cast<int>(
      std::count_if(at.begin(), at.end(), [](const Option* option) { return !option->cause.id.empty(); }));
}

std::size_t Hypothesis::variant() const {
  for (const Option* option : at)
    if (option->fixed_variant >= 0) return static_cast<std::size_t>(option->fixed_variant);
  return (*this)[Axis::value].variant;
}

Tables tables_of(const Survey& survey, std::span<const float> recorded) {
  return {{value_table(survey), domain_table(survey), column_table(survey), row_table(survey),
           output_table(survey, recorded)}};
}

bool can_pair(const Option& a, const Option& b) {
  const bool a_is_value = a.variant != 0, b_is_value = b.variant != 0;
  if ((a_is_value && b.fixed_variant >= 0) || (b_is_value && a.fixed_variant >= 0)) return false;
  if (a.fixed_variant >= 0 && b.fixed_variant >= 0 && a.fixed_variant != b.fixed_variant) return false;
  return !(a.logit && b.logit);  // both say which column is read
}

float value_under(const Survey& survey, std::size_t variant, float stored, std::size_t row) {
  const Variant& way = survey.variants[variant];
  const ValueRule rule = survey.temperature.empty() ? way.rule : rule_in_row(way, survey.temperature[row]);
  return value_of(stored, rule);
}

double picked_value(const Survey& survey, std::size_t variant, std::size_t pick, std::size_t row) {
  const float value = value_under(survey, variant, survey.columns[pick].stored[row], row);
  return std::isfinite(value) ? static_cast<double>(value) : std::numeric_limits<double>::quiet_NaN();
}

std::size_t pick_index(const Survey& survey, const std::string& id) {
  const auto found = std::find_if(survey.columns.begin(), survey.columns.end(),
                                  [&](const ColumnPick& pick) { return pick.id == id; });
  return static_cast<std::size_t>(found - survey.columns.begin());
}

std::size_t variant_index(const Survey& survey, const std::string& id) {
  for (std::size_t v = 1; v < survey.variants.size(); ++v)
    if (survey.variants[v].id == id) return v;
  return 0;
}

}  // namespace drift::hypothesis
