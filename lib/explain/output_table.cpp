// What was done to a right log-prob before it was recorded.

#include <cmath>

#include "explain/hypotheses.hpp"
#include "explain/numbers.hpp"
#include "explain/score.hpp"

namespace drift::hypothesis {
namespace {

// An increasing or decreasing function of the log-prob, in fp32 at the end.
template <class Function>
std::function<Outcome(const Exact&, float)> monotone(double noise_scale, const Function& f) {
  return [noise_scale, f](const Exact& exact, float) {
    const double a = f(exact, exact.logp - exact.tolerance), b = f(exact, exact.logp + exact.tolerance);
    const double slack = 0x1p-22 * std::fmax(std::fabs(a), std::fabs(b));  // of the function itself, in fp32
    return Outcome{f(exact, exact.logp), std::fmin(a, b) - slack, std::fmax(a, b) + slack,
                   2 * exact.tolerance, noise_scale};
  };
}

Outcome plain(const Exact& exact, float) {
  return {exact.logp, exact.logp - exact.tolerance, exact.logp + exact.tolerance, 2 * exact.tolerance, 1};
}

Option rounded(Dtype dtype, const char* id) {
  Option option;
  const std::string type{name(dtype)};
  option.cause = {id, "the output was rounded to " + type,
                  "keep log-probs in fp32 from the log-softmax to the file"};
  option.lattice = dtype;
  const double step = dtype == Dtype::BF16 ? 0x1p-7 : 0x1p-10;
  option.outcome = [dtype, step](const Exact& exact, float) {
    const auto to = [dtype](double value) {
      return static_cast<double>(rounded_to(dtype, static_cast<float>(value)));
    };
    const double cell = std::ldexp(step, std::ilogb(std::fmax(std::fabs(exact.logp), 0x1p-14)));
    const double low = to(exact.logp - exact.tolerance), high = to(exact.logp + exact.tolerance);
    return Outcome{to(exact.logp), low, high, high - low + cell, 1};
  };
  return option;
}

// x / T - LSE(x / T) is right; this is (x - LSE(x)) / T.
Option divided_afterwards(const Survey& survey) {
  Option option;
  option.cause = {"logp_over_temperature", "the log-probs were divided by the temperature, not the logits",
                  "divide the logits before the log-softmax"};
  const std::size_t untempered = variant_index(survey, "temperature_ignored");
  option.fixed_variant = static_cast<int>(untempered);
  if (untempered == 0) option.why_not = "the temperature is 1";
  option.outcome = [&survey](const Exact& exact, float recorded) {
    const double t = static_cast<double>(survey.temperature.empty() ? survey.variants[0].rule.temperature
                                                                    : survey.temperature[exact.row]);
    Outcome out = plain(exact, recorded);
    for (double* value : {&out.value, &out.low, &out.high, &out.width}) *value /= t;
    out.noise_scale = 1;  // sigma is of logits over T already
    return out;
  };
  return option;
}

Option entropy(const Survey& survey, double sign) {
  Option option;
  option.fixed_variant = 0;
  option.cause = {sign > 0 ? "entropy" : "negative_entropy",
                  std::string("the recorded values are the rows' ") +
                      (sign > 0 ? "entropy" : "negative entropy") + ", not the targets' log-probs",
                  "record the target's log-prob"};
  if (survey.entropy.empty()) option.why_not = "the survey has no entropy";
  option.outcome = [&survey, sign](const Exact& exact, float) {
    const double value = sign * static_cast<double>(survey.entropy[exact.row]);
    // A sum of p log p takes a few roundings more than a log-prob, and none from the target.
    const double tolerance = 4 * tolerance_of(0, survey.variants[0].lse[exact.row], value) + 0x1p-20;
    return Outcome{value, value - tolerance, value + tolerance, 2 * tolerance, 0};
  };
  return option;
}

Option zero_filled(const Survey& survey, std::span<const float> recorded) {
  Option option;
  bool any = false;
  for (std::size_t row = 0; row < recorded.size(); ++row)
    any = any || (survey.use[row] && recorded[row] == 0.0f);
  if (!any) option.why_not = "no recorded value is exactly 0";
  option.cause = {"zero_filled", "missing log-probs were filled with 0", "mask tokens that have no log-prob"};
  option.reads_recorded = true;
  option.outcome = [](const Exact& exact, float value) {
    Outcome out = plain(exact, value);
    if (value == 0.0f) out.value = out.low = out.high = 0;
    return out;
  };
  return option;
}

// The least value that several rows share is where a clamp would be.
Option clamped(const Survey& survey, std::span<const float> recorded) {
  Option option;
  option.reads_recorded = true;
  float least = std::numeric_limits<float>::infinity();
  std::int64_t shared = 0;
  for (std::size_t row = 0; row < recorded.size(); ++row) {
    if (!survey.use[row] || !std::isfinite(recorded[row])) continue;
    if (recorded[row] < least) shared = 0;
    least = std::fmin(least, recorded[row]);
    shared += recorded[row] == least;
  }
  option.cause = {"clamped", "log-probs below " + shortest(least) + " were clamped to it",
                  "record them unclamped"};
  option.fitted = true;
  if (shared < 2 || least == 0.0f) option.why_not = "no two tokens share the least recorded value";
  const auto floor = static_cast<double>(least);
  option.outcome = [floor](const Exact& exact, float recorded_value) {
    Outcome out = plain(exact, recorded_value);
    for (double* value : {&out.value, &out.low, &out.high}) *value = std::fmax(*value, floor);
    return out;
  };
  return option;
}

Option made(const char* id, const char* what, const char* remedy,
            std::function<Outcome(const Exact&, float)> outcome) {
  Option option;
  option.cause = {id, what, remedy};
  option.outcome = std::move(outcome);
  return option;
}

}  // namespace

Table output_table(const Survey& survey, std::span<const float> recorded) {
  Table table(1);
  table[0].outcome = plain;
  table.push_back(rounded(Dtype::BF16, "output_bf16"));
  table.push_back(rounded(Dtype::F16, "output_f16"));
  table.push_back(made("probability", "probabilities were recorded, not log-probs", "take their logarithm",
                       monotone(0, [](const Exact&, double logp) { return std::exp(logp); })));
  table.push_back(made("negated", "negative log-probs (a loss) were recorded", "change the sign",
                       monotone(1, [](const Exact&, double logp) { return -logp; })));
  table.push_back(made(
      "base_2", "log-probs were recorded in bits (base 2)", "multiply by ln 2",
      monotone(1.4426950408889634, [](const Exact&, double logp) { return logp * 1.4426950408889634; })));
  table.push_back(
      made("lse", "the log-sum-exp was recorded, not the log-prob", "subtract it from the target's logit",
           [](const Exact& exact, float) {
             const double tolerance = tolerance_of(0, exact.lse, exact.lse);
             return Outcome{exact.lse, exact.lse - tolerance, exact.lse + tolerance, 2 * tolerance, 0};
           }));
  table.push_back(divided_afterwards(survey));
  table.push_back(entropy(survey, 1));
  table.push_back(entropy(survey, -1));
  table.push_back(zero_filled(survey, recorded));
  table.push_back(clamped(survey, recorded));
  return table;
}

}  // namespace drift::hypothesis
