#pragma once

// --gate 'PATH OP NUMBER': a limit on any number of the aggregate report.
//
// PATH names keys of aggregate.json with dots between. A list is entered by index (`worst.0`, `worst[0]`) or
// by the `formula` or `name` of one of its objects (`candidates.fixed-tree`, `recorded.rollout_logprobs`); a
// name with dots or blanks stands in brackets and quotes (`recorded["a.b"]`). `drift` may be left out:
// `recorded.x.vs.oracle.max_abs`. A pair's numbers: `pairs.A:B.max_abs`, `pairs.A:B.metrics.k3`; a bin's:
// `recorded.x.vs.oracle.strata.logp["0..0.01"].max_abs`, by name before index. OP is == != < <= > >=.
//
// A value that is NaN fails every gate. So does any number of a recorded tensor's comparison
// (`recorded.NAME.vs.REFERENCE...`) or of a pair's (`pairs.NAME...`), `count` and `nonfinite` apart, while
// `nonfinite` of that comparison is not 0: a statistic of the rows that are left says nothing about those
// that were left out. `rows_over` then counts them.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "report/report.hpp"

namespace drift {

enum class Relation { equal, not_equal, less, at_most, greater, at_least };

struct Gate {
  std::string text;               ///< as typed
  std::vector<std::string> path;  ///< keys and indices, outermost first
  Relation relation = Relation::equal;
  double limit = 0;
};

/// Throws Fault::usage naming the place where the expression stops making sense.
Gate parse_gate(const std::string& text);

/// Whether a gate of that name was asked for by --gate; else it is a candidate's limit (which --atol and
/// --rtol give, too: `from` alone does not tell).
bool is_expression(const GateReport& gate);

/// Whether `gate` looks at a number of the comparison of the `index`-th recorded tensor, called `name`, with
/// `reference` ("oracle" or a formula).
bool is_about(const Gate& gate, std::size_t index, const std::string& name, const std::string& reference);
/// The same of the `index`-th pair, called `name`.
bool is_about_pair(const Gate& gate, std::size_t index, const std::string& name);

/// The numbers of one report, found by path.
class ReportValues {
 public:
  explicit ReportValues(const AggregateReport& report);
  /// The same of a document that `to_json` wrote. Throws Fault::input if it is not JSON.
  explicit ReportValues(const std::string& aggregate_json);
  ReportValues(ReportValues&&) noexcept;
  ReportValues& operator=(ReportValues&&) noexcept;
  ~ReportValues();

  /// Throws Fault::usage if the path selects nothing, or no number; the message lists the nearest keys.
  /// `text` is quoted in it.
  double number(const std::vector<std::string>& path, const std::string& text) const;
  /// How many rows a number at `path` leaves out although they should have been compared: `nonfinite` of the
  /// recorded comparison or the pair that it is part of; 0 for every other number.
  std::int64_t left_out(const std::vector<std::string>& path) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Whether the report passes. Throws as ReportValues::number does.
GateReport evaluate(const Gate& gate, const ReportValues& values);

}  // namespace drift
