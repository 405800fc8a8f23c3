// Temperature and truncation faults: each is a variant of the survey, so that its LSE is known.

#include <algorithm>
#include <cmath>

#include "explain/hypotheses.hpp"
#include "explain/numbers.hpp"

namespace drift::hypothesis {
namespace {

std::string temperature_text(const Survey& survey) {
  const float audited = survey.variants[0].rule.temperature;
  if (survey.temperature.empty()) return shortest(audited);
  const auto [least, most] = std::minmax_element(survey.temperature.begin(), survey.temperature.end());
  return *least == *most ? shortest(*least) : shortest(*least) + " to " + shortest(*most);
}

std::string truncation_text(const Truncation& truncation) {
  std::string out;
  if (truncation.top_k > 0) out += ", top-k " + text_of(truncation.top_k);
  if (truncation.top_p < 1) out += ", top-p " + shortest(truncation.top_p);
  if (truncation.min_p > 0) out += ", min-p " + shortest(truncation.min_p);
  return out.empty() ? "its kept sets" : out.substr(2);
}

std::string truncation_options(const Truncation& truncation) {
  std::string out;
  if (truncation.top_k > 0) out += " --top-k " + text_of(truncation.top_k);
  if (truncation.top_p < 1) out += " --top-p " + shortest(truncation.top_p);
  if (truncation.min_p > 0) out += " --min-p " + shortest(truncation.min_p);
  return out.empty() ? "no truncation" : out.substr(1);
}

bool is_whole(double value) { return std::fabs(value - std::round(value)) <= 1e-4; }

Cause cause_of(const Survey& survey, const Variant& way) {
  const std::string t = temperature_text(survey), dtype{name(way.rule.candidate)};
  const std::string fitted = shortest(way.rule.temperature);
  if (way.id == "temperature_ignored")
    return {way.id, "the temperature was ignored (T = " + t + " was not applied)",
            "divide the logits by " + t + ", or pass --temperature 1"};
  if (way.id == "temperature_native")
    return {way.id,
            "the temperature was divided in " + dtype + " (T = " +
                shortest(rounded_to(way.rule.candidate, way.rule.temperature)) + " and rounded quotients)",
            "divide in fp32 (`run --temperature-order native` shows the same drift in a candidate)"};
  if (way.id == "temperature_twice")
    return {way.id, "the temperature was applied twice (T = " + t + ")", "divide the logits by it once"};
  if (way.id == "temperature_fitted")
    return {way.id, "the temperature was " + fitted + " instead of " + t,
            "use T = " + t + ", or pass --temperature " + fitted};
  if (way.id == "truncation_off")
    return {way.id,
            "the log-probs are over the whole vocabulary, not over what the sampler kept (" +
                truncation_text(survey.variants[0].truncation) + ")",
            "renormalise over the kept set, or audit without truncation"};
  if (way.id == "truncation_fitted")
    return {way.id,
            "the log-probs are renormalised over a truncated vocabulary (" + truncation_text(way.truncation) +
                ")",
            "score over the same set, or pass " + truncation_options(way.truncation)};
  if (way.id.starts_with("logits_"))
    return {way.id, "the logits were rounded to " + dtype + " before the log-softmax",
            "keep them in " + std::string(name(way.rule.stored)) + ", or `run --candidate-dtype`"};
  return {way.id, "the values were read as " + way.id, "read them as audited"};
}

}  // namespace

bool is_round(const Truncation& truncation) {
  const std::int64_t k = truncation.top_k;
  return (k <= 20 || k % 10 == 0 || (k & (k - 1)) == 0) && is_whole(200 * truncation.top_p) &&
         is_whole(200 * truncation.min_p);
}

Table value_table(const Survey& survey) {
  Table table(1);
  const bool no_temperature = survey.temperature.empty()
                                  ? survey.variants[0].rule.temperature == 1.0f
                                  : std::all_of(survey.temperature.begin(), survey.temperature.end(),
                                                [](float t) { return t == 1.0f; });
  for (std::size_t v = 1; v < survey.variants.size(); ++v) {
    const Variant& way = survey.variants[v];
    const auto before = survey.variants.begin() + static_cast<std::ptrdiff_t>(v);
    const bool is_known = std::any_of(survey.variants.begin() + 1, before, [&](const Variant& other) {
      return other.id == way.id && other.rule == way.rule && other.truncation == way.truncation;
    });
    if (is_known) continue;  // several recorded tensors were fitted, and two came out alike
    if (way.id == "temperature_reciprocal")
      continue;  // moves last bits only: a form (forms.hpp), never a cause
    Option option;
    option.cause = cause_of(survey, way);
    option.variant = v;
    option.fitted = way.id.ends_with("_fitted");
    const bool about_temperature = way.id.starts_with("temperature_") && !option.fitted;
    if (about_temperature && no_temperature) option.why_not = "the temperature is 1";
    table.push_back(std::move(option));
  }
  const auto absent = [&](const char* id, const char* why) {
    if (variant_index(survey, id) != 0) return;
    Option option;
    option.cause = {id, "", ""};
    option.why_not = why;
    table.push_back(std::move(option));
  };
  for (const char* id : {"temperature_ignored", "temperature_native", "temperature_twice"})
    absent(id, no_temperature ? "the temperature is 1" : "the survey has no such reading");
  if (survey.variants[0].truncation.is_off()) absent("truncation_off", "the audit truncates nothing");
  return table;
}

}  // namespace drift::hypothesis
