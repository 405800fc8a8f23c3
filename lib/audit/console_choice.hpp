#pragma once

// What of many comparisons a terminal shows, and under which names: ten recorded tensors are 45 pairs. The
// report always has everything, under full names.

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/report.hpp"

namespace drift {

/// How many are shown of `all`: all of them where there are only a few more than fit.
std::size_t shown_rows(std::size_t all);
/// Blocks of several lines each: metrics, worst tokens, strata.
inline constexpr std::size_t shown_blocks = 3;

/// One comparison of a recorded tensor: [recorded][vs].
struct Spot {
  std::size_t recorded = 0, vs = 0;
};

/// Comparisons of recorded tensors, what wants a look first: failed gates, then those against the oracle,
/// then what left rows out, then by max_abs; as in the report where equal.
std::vector<Spot> worst_recorded(const AggregateReport& report);
/// Indices of pairs: failed gates first, then permuted ones, then as above.
std::vector<std::size_t> worst_pairs(const AggregateReport& report);

/// "1 value is", "1,234 values are".
std::string plural(std::int64_t count, const std::string& one, const std::string& several);
/// "# ... and 42 more pairs in the report".
std::string and_more(std::size_t count, const std::string& one, const std::string& several);

/// Names of recorded tensors as they are shown: FILE:NAME without the folders of FILE where that is still
/// unique, safe for a terminal. Every other name as it is.
class ShortNames {
 public:
  explicit ShortNames(const AggregateReport& report);
  std::string operator()(const std::string& name) const;
  std::string pair(const PairReport& pair) const { return (*this)(pair.a) + " vs " + (*this)(pair.b); }

 private:
  std::map<std::string, std::string> short_;
};

}  // namespace drift
