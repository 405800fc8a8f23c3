#include "explain/forms.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace drift::hypothesis {
namespace {

// fp32(T) divides or its reciprocal multiplies: both are fp32 arithmetic, so both are tried where the audited
// one stands.
std::vector<std::size_t> variants_of(const Survey& survey, const Hypothesis& hypothesis) {
  std::vector<std::size_t> out{hypothesis.variant()};
  const std::size_t reciprocal = variant_index(survey, "temperature_reciprocal");
  if (out[0] == 0 && reciprocal != 0 && !hypothesis[Axis::domain].logit &&
      hypothesis[Axis::domain].fixed_variant < 0)
    out.push_back(reciprocal);
  return out;
}

std::vector<Form> forms_of(const Survey& survey, const Hypothesis& hypothesis) {
  std::vector<Form> out;
  const bool is_target = hypothesis[Axis::column].cause.id.empty();
  const std::string& domain = hypothesis[Axis::domain].cause.id;
  const std::vector<std::size_t> variants = variants_of(survey, hypothesis);
  for (const Survey::FormulaRows& formula : survey.formulas) {
    const bool same_domain =
        domain.empty() ? !formula.with_padding : hypothesis.with_padding() && formula.with_padding;
    const bool same_value = std::find(variants.begin(), variants.end(), formula.variant) != variants.end();
    if (is_target && same_domain && same_value) out.push_back({formula.formula, formula.variant, &formula});
  }
  for (const std::size_t variant : variants)
    for (const char* id : {"x - LSE", "x - max - log(sum)", "x - fp32(LSE)"})
      out.push_back({id, variant, nullptr});
  return out;
}

// The output axis on fp32 bits.
float recorded_as(const Hypothesis& hypothesis, const Row& row, float logp, float recorded) {
  const Option& output = hypothesis[Axis::output];
  if (output.cause.id.empty()) return logp;
  if (output.lattice != Dtype::F32) return rounded_to(output.lattice, logp);
  Exact exact = row.exact;
  exact.logp = static_cast<double>(logp);
  return static_cast<float>(output.outcome(exact, recorded).value);
}

}  // namespace

float logp_in_form(const Survey& survey, const Hypothesis& hypothesis, const Form& form, std::size_t row) {
  const Row under = row_under(survey, hypothesis, row, form.variant);
  const Exact& exact = under.exact;
  if (form.formula) return form.formula->logp[exact.row];
  if (form.id == "x - LSE") {
    const auto logp = static_cast<float>(exact.logp);
    return logp > 0.0f && hypothesis.causes() == 0 ? 0.0f : logp;  // a log-prob that is right is at most 0
  }
  const auto logit = static_cast<float>(exact.logit);
  if (form.id == "x - fp32(LSE)") return logit - static_cast<float>(exact.lse);
  const std::size_t argmax = pick_index(survey, "argmax");
  if (argmax == survey.columns.size()) return std::numeric_limits<float>::quiet_NaN();
  const double max = picked_value(survey, form.variant, argmax, exact.row);
  return (logit - static_cast<float>(max)) - static_cast<float>(exact.lse - max);
}

BestForm best_form(const Survey& survey, const Hypothesis& hypothesis, std::span<const std::size_t> rows,
                   std::span<const float> recorded) {
  BestForm best;
  bool first = true;
  for (const Form& form : forms_of(survey, hypothesis)) {
    std::int64_t bits = 0;
    for (const std::size_t row : rows) {
      const float value = recorded[row];
      const Row under = row_under(survey, hypothesis, row, form.variant);
      const float predicted =
          under.edge && value == 0.0f
              ? 0.0f
              : recorded_as(hypothesis, under, logp_in_form(survey, hypothesis, form, row), value);
      bits += std::bit_cast<std::uint32_t>(predicted + 0.0f) == std::bit_cast<std::uint32_t>(value + 0.0f);
    }
    if (first || bits > best.bits) best = {form, bits};
    first = false;
  }
  return best;
}

}  // namespace drift::hypothesis
