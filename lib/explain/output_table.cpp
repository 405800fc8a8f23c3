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

// How far apart the type's numbers lie at a value.
double step_at(Dtype dtype, double value) {
  const double step = dtype == Dtype::BF16 ? 0x1p-7 : 0x1p-10;
  return std::ldexp(step, std::ilogb(std::fmax(std::fabs(value), 0x1p-14)));
}

bool is_a_step_off(Dtype dtype, const Survey& survey, std::span<const float> recorded) {
  for (std::size_t row = 0; row < recorded.size(); ++row) {
    if (!survey.use[row] || !std::isfinite(recorded[row])) continue;
    const double logit = picked_value(survey, 0, 0, row), lse = survey.variants[0].lse[row];
    const double off = std::fabs(static_cast<double>(recorded[row]) - (logit - lse));
    if (rounded_to(dtype, recorded[row]) != recorded[row]) return false;
    if (off > step_at(dtype, logit - lse) + tolerance_of(logit, lse, logit - lse)) return false;
  }
  return true;
}

Option rounded(Dtype dtype, const char* id, const Survey& survey, std::span<const float> recorded) {
  Option option;
  const std::string type{name(dtype)};
  option.cause = {id, "the output was rounded to " + type,
                  "keep log-probs in fp32 from the log-softmax to the file"};
  option.lattice = dtype;
  option.is_a_step_off = is_a_step_off(dtype, survey, recorded);
  option.outcome = [dtype](const Exact& exact, float) {
    const auto to = [dtype](double value) {
      return static_cast<double>(rounded_to(dtype, static_cast<float>(value)));
    };
    const double low = to(exact.logp - exact.tolerance), high = to(exact.logp + exact.tolerance);
    return Outcome{to(exact.logp), low, high, high - low + step_at(dtype, exact.logp), 1};
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
    const double tolerance = 2 * tolerance_of(0, survey.variants[0].lse[exact.row], value);
    return Outcome{value, value - tolerance, value + tolerance, 2 * tolerance, 0};
  };
  return option;
}

// A value that many rows share is the recorder's doing, whichever: it says nothing of the logits. One more
// row that shares it is worth so many bits; where three quarters do, too few are left to say what the others
// hold.
constexpr double bits_of_sharing = 12;

std::string why_too_many(std::int64_t shared, std::int64_t rows, float value) {
  if (4 * shared <= 3 * rows) return "";
  return text_of(shared) + " of " + counted(rows, "recorded value") + " are " + shortest(value) +
         ", too many to tell what they stand for";
}

Option zero_filled(const Survey& survey, std::span<const float> recorded) {
  Option option;
  std::int64_t zeros = 0, rows = 0;
  for (std::size_t row = 0; row < recorded.size(); ++row) {
    if (!survey.use[row] || !std::isfinite(recorded[row])) continue;
    ++rows;
    zeros += recorded[row] == 0.0f;
  }
  option.why_not = zeros == 0 ? "no recorded value is exactly 0" : why_too_many(zeros, rows, 0);
  option.pattern_bits = bits_of_sharing * static_cast<double>(zeros);
  option.cause = {"zero_filled", "missing log-probs were filled with 0", "mask tokens that have no log-prob"};
  option.reads_recorded = true;
  option.outcome = [](const Exact& exact, float value) {
    Outcome out = plain(exact, value);
    if (value == 0.0f && !(out.low <= 0 && 0 <= out.high)) {
      out.value = out.low = out.high = 0;
      out.is_read = true;
    }
    return out;
  };
  return option;
}

// The least value that several rows share is where a clamp would be.
Option clamped(const Survey& survey, std::span<const float> recorded) {
  Option option;
  option.reads_recorded = true;
  float least = std::numeric_limits<float>::infinity();
  std::int64_t shared = 0, rows = 0;
  for (std::size_t row = 0; row < recorded.size(); ++row) {
    if (!survey.use[row] || !std::isfinite(recorded[row])) continue;
    ++rows;
    if (recorded[row] < least) shared = 0;
    least = std::fmin(least, recorded[row]);
    shared += recorded[row] == least;
  }
  option.cause = {"clamped", "log-probs below " + shortest(least) + " were clamped to it",
                  "record them unclamped"};
  option.fitted = true;
  option.why_not = shared < 2 || least == 0.0f ? "no two tokens share the least recorded value"
                                               : why_too_many(shared, rows, least);
  option.pattern_bits = bits_of_sharing * static_cast<double>(shared - 1);
  const auto floor = static_cast<double>(least);
  option.outcome = [floor](const Exact& exact, float recorded_value) {
    Outcome out = plain(exact, recorded_value);
    out.is_read = static_cast<double>(recorded_value) == floor && !(out.low <= floor && floor <= out.high);
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
  table.push_back(rounded(Dtype::BF16, "output_bf16", survey, recorded));
  table.push_back(rounded(Dtype::F16, "output_f16", survey, recorded));
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
