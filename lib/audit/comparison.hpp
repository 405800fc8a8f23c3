#pragma once

// Two columns of one row order against each other, as reports hold it: statistics, the worst tokens, and
// where drift sits.

#include <cstdint>
#include <span>
#include <vector>

#include "audit/all_rows.hpp"
#include "audit/case.hpp"
#include "audit/inputs.hpp"
#include "report/report.hpp"

namespace drift {

enum class Quantity { lse, logp };

/// How much of a comparison is worked out.
enum class Detail {
  drift,   ///< statistics and worst tokens
  strata,  ///< and a table a property of the token
};

/// Compares columns of one run; keeps what every comparison needs (who owns which token, which chunk it lies
/// in).
class Comparison {
 public:
  Comparison(const Case& run, const Inputs& inputs, const AllRows& rows);

  /// Both [rows]. Rows that should have been compared but hold something that is not a number count as
  /// nonfinite.
  Compared operator()(std::span<const float> candidate, std::span<const float> reference, Quantity quantity,
                      Detail detail = Detail::drift) const;
  /// Rows that are compared: all with an LSE, or the active ones with a log-prob.
  std::span<const std::uint8_t> use(Quantity quantity) const;
  std::int64_t left_out(Quantity quantity) const { return quantity == Quantity::lse ? lost_ : lost_active_; }

 private:
  std::vector<Token> tokens(const std::vector<WorstRow>& worst, Quantity quantity) const;

  const Case& run_;
  const Inputs& inputs_;
  const AllRows& rows_;
  std::vector<std::int32_t> owner_, cp_chunk_;  ///< [rows]; empty with one TP or CP rank
  std::int64_t lost_ = 0, lost_active_ = 0;
};

}  // namespace drift
