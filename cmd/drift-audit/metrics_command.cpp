// `metrics`: the numbers of a pair, with the formula of each.

#include "base/text_grid.hpp"
#include "drift-audit/commands.hpp"
#include "stats/mismatch.hpp"

namespace drift {
namespace {

/// "verl rollout_corr/k3_kl, nemo train/gen_kl_error": whose numbers are this one, to the last bit.
std::string also_called(const Metric& metric) {
  std::string out;
  for (const FrameworkMetric& other : framework_metrics()) {
    Mismatch one;
    one.*metric.value =
        5;  // beyond every clamp, and no other field is: a name that gives it back is this metric's
    if (other.value(one) == 5)
      out += (out.empty() ? "" : ", ") + std::string(other.framework) + " " + std::string(other.name);
  }
  return out;
}

}  // namespace

int list_metrics(const Console& console) {
  console.say(
      "a = training, b = rollout log-prob of a token, d = a - b, r = exp(d), w = min(exp(clamp(d, -20, 20)), "
      "2), all over compared tokens; [s]: "
      "of sequence s; a sequence without a compared token counts nowhere (verl counts it as 0)");
  for (const Metric& metric : mismatch_metrics()) {
    console.say(std::string(metric.key));
    std::vector<std::vector<std::string>> rows{{"is", std::string(metric.formula)}};
    if (const std::string names = also_called(metric); !names.empty()) rows.push_back({"also", names});
    console.say(aligned(rows, 2, "  "));
  }
  return 0;
}

}  // namespace drift
