#include "explain/parts.hpp"

#include <cmath>

namespace drift::hypothesis {
namespace {

enum Place : std::size_t {
  input_rounding,
  formula_order,
  temperature,
  domain,
  alignment,
  output_rounding,
  rest
};

Place place_of_value(const std::string& id) {
  return id.starts_with("logits_") ? input_rounding : id.starts_with("truncation_") ? domain : temperature;
}

}  // namespace

RowParts row_parts(const Survey& survey, const Hypothesis& null, const Hypothesis& best, const Form& form,
                   std::size_t row, float recorded) {
  RowParts parts{};
  const double oracle = row_under(survey, null, row).exact.logp;
  Hypothesis upto = null;
  double reached = oracle;
  const auto switch_on = [&](Axis axis, Place place) {
    upto.at[static_cast<std::size_t>(axis)] = best.at[static_cast<std::size_t>(axis)];
    const double next = row_under(survey, upto, row, best.variant()).exact.logp;
    parts[place] += next - reached;
    reached = next;
  };
  const Option& output = best[Axis::output];
  const bool value_of_output = output.fixed_variant > 0;  // its temperature part stays with the output
  switch_on(Axis::value, value_of_output ? output_rounding : place_of_value(best[Axis::value].cause.id));
  switch_on(Axis::domain, domain);
  switch_on(Axis::column, alignment);
  switch_on(Axis::row, alignment);
  const auto in_form = static_cast<double>(logp_in_form(survey, best, form, row));
  if (std::isfinite(in_form)) {
    parts[formula_order] += in_form - reached;
    reached = in_form;
  }
  Row under = row_under(survey, best, row);
  under.exact.logp = reached;
  const double out = under.edge && recorded == 0.0f ? 0.0 : output.outcome(under.exact, recorded).value;
  parts[output_rounding] += out - reached;
  parts[rest] += static_cast<double>(recorded) - out;
  double sum = 0;
  for (const double part : parts) sum += part;
  if (!std::isfinite(sum)) {
    parts = {};
    parts[rest] = static_cast<double>(recorded) - oracle;
  }
  return parts;
}

std::vector<Part> parts_of(const Survey& survey, const Hypothesis& null, const Hypothesis& best,
                           const Form& form, std::span<const std::size_t> rows,
                           std::span<const float> recorded) {
  std::vector<Part> out;
  for (const char* name : part_names) out.push_back({name, 0, 0});
  for (const std::size_t row : rows) {
    const RowParts parts = row_parts(survey, null, best, form, row, recorded[row]);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      out[i].mean += parts[i];
      out[i].mean_abs += std::fabs(parts[i]);
    }
  }
  for (Part& part : out) {
    part.mean /= std::fmax(1.0, static_cast<double>(rows.size()));
    part.mean_abs /= std::fmax(1.0, static_cast<double>(rows.size()));
  }
  return out;
}

}  // namespace drift::hypothesis
