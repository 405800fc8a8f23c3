#include "audit/console_zeros.hpp"

#include <algorithm>

#include "audit/console_table.hpp"
#include "support/catch.hpp"

namespace drift {
namespace {

using Lines = std::vector<std::string>;

Compared worst(const std::vector<std::pair<float, float>>& values, std::int64_t count) {
  Compared out;
  out.drift.count = count;
  for (const auto& [candidate, reference] : values)
    out.worst.push_back(
        {.position = {0}, .target = {}, .owner_tp_rank = {}, .candidate = candidate, .reference = reference});
  return out;
}

AggregateReport against_oracle(const Compared& compared, const std::string& kind = "logp") {
  AggregateReport report;
  report.oracle.emplace();
  report.recorded = {
      {.name = "x", .dtype = "F32", .digest = "", .file = {}, .kind = kind, .vs = {{"oracle", compared}}}};
  return report;
}

AggregateReport pair(const Compared& compared) {
  AggregateReport report;
  report.pairs.emplace();
  report.pairs->push_back(
      {.name = "a:b", .a = "a", .b = "b", .compared = compared, .metrics = {}, .framework_metrics = {}});
  return report;
}

}  // namespace

TEST_CASE("console_zeros: exact zeros where the oracle says that the token was not certain") {
  const Compared some = worst({{0, -10.8f}, {-0.0f, -2}, {-1, -2}, {0, -0.002f}}, 4);
  CHECK(zero_warnings(against_oracle(some)) ==
        Lines{"3 values of x are exactly 0 where the oracle is below -0.001: zero-filled?"});
  CHECK(zero_warnings(against_oracle(worst({{0, -10.8f}}, 1))) ==
        Lines{"1 value of x is exactly 0 where the oracle is below -0.001: zero-filled?"});
  CHECK(zero_warnings(against_oracle(some, "lse")).empty());
  const Lines table = console_table(against_oracle(some), "out");
  CHECK(std::count(table.begin(), table.end(),
                   "# warning      3 values of x are exactly 0 where the oracle is below "
                   "-0.001: zero-filled?") == 1);
}

TEST_CASE("console_zeros: a 0 that is right, or nearly, is none") {
  CHECK(zero_warnings(against_oracle(worst({{0, -0.001f}, {0, -1e-5f}, {0, 0}}, 3))).empty());
  CHECK(zero_warnings(against_oracle(worst({{-1e-30f, -5}}, 1))).empty());
  CHECK(zero_warnings(against_oracle(worst({{-5, 0}}, 1))).empty());  // the oracle's own 0
  CHECK(zero_warnings(AggregateReport{}).empty());
}

TEST_CASE("console_zeros: where the list of the worst may not have them all, it says so") {
  CHECK(zero_warnings(against_oracle(worst({{0, -10}, {0, -9}}, 5)))
            .front()
            .rfind("at least 2 values of x", 0) == 0);
  CHECK(
      zero_warnings(against_oracle(worst({{0, -10}, {-1, -1.0005f}}, 5))).front().rfind("1 value of x", 0) ==
      0);
}

TEST_CASE("console_zeros: in a pair either side can be the one") {
  CHECK(zero_warnings(pair(worst({{0, -3}, {0, -2}, {-1, 0}}, 3))) ==
        Lines{"2 values of a are exactly 0 where b is below -0.001: zero-filled?",
              "1 value of b is exactly 0 where a is below -0.001: zero-filled?"});
  CHECK(zero_warnings(pair(worst({{0, 0}}, 1))).empty());
}

}  // namespace drift
