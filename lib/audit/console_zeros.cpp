#include "audit/console_zeros.hpp"

#include <cmath>
#include <map>

#include "audit/console_choice.hpp"

namespace drift {
namespace {

/// A log-prob below this is no rounded 0, in nats.
constexpr float certain = -1e-3f;

struct Zeros {
  std::int64_t count = 0;
  bool is_all = true;  ///< no token outside the list of the worst can be one more
  std::string than;    ///< what says that they are wrong
};

Zeros zeros_of(const Compared& compared, const std::string& than, bool of_candidate) {
  Zeros out{.than = than};
  for (const Token& token : compared.worst) {
    const float value = of_candidate ? token.candidate : token.reference;
    const float other = of_candidate ? token.reference : token.candidate;
    out.count += value == 0 && other < certain;
  }
  const bool has_others = static_cast<std::int64_t>(compared.worst.size()) < compared.drift.count;
  if (has_others && !compared.worst.empty()) {  // worst first: all others are at most as far off as the last
    const Token& last = compared.worst.back();
    out.is_all = std::fabs(last.candidate - last.reference) <= -certain;
  }
  return out;
}

}  // namespace

std::vector<std::string> zero_warnings(const AggregateReport& report) {
  std::map<std::string, Zeros> by_name;
  const auto note = [&](const std::string& name, const Zeros& zeros) {
    Zeros& known = by_name[name];
    if (zeros.count > known.count) known = zeros;
  };
  const ShortNames shown(report);
  if (report.recorded)
    for (const RecordedReport& recorded : *report.recorded)
      for (const auto& [reference, compared] : recorded.vs)
        if (recorded.kind == "logp" && reference == "oracle")
          note(recorded.name, zeros_of(compared, "the oracle", true));
  if (report.pairs && !report.oracle)
    for (const PairReport& pair : *report.pairs)
      if (pair.kind == "logp") {
        note(pair.a, zeros_of(pair.compared, shown(pair.b), true));
        note(pair.b, zeros_of(pair.compared, shown(pair.a), false));
      }
  std::vector<std::string> out;
  for (const auto& [name, zeros] : by_name)
    if (zeros.count > 0)
      out.push_back((zeros.is_all ? "" : "at least ") + plural(zeros.count, "value", "values") + " of " +
                    shown(name) + (zeros.count == 1 ? " is" : " are") + " exactly 0 where " + zeros.than +
                    " is below -0.001: zero-filled?");
  return out;
}

}  // namespace drift
