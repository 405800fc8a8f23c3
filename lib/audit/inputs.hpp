#pragma once

// The small tensors of a dump - targets, mask, recorded values - as the audit uses them: which rows are
// active, and where each row's target is. Every rank reads them whole.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "audit/case.hpp"

namespace drift {

struct Inputs {
  std::vector<std::int64_t>
      targets;  ///< [rows], a column in [0, real_vocab); -1 in inactive rows and without targets
  std::vector<std::int64_t>
      stored_targets;  ///< [rows], shifted, as stored in inactive rows too; empty without targets
  std::vector<std::uint8_t> active;  ///< [rows], 0 or 1
  std::int64_t active_rows = 0;
  std::vector<Range> sequences;    ///< whose tokens belong together; they cover all rows
  std::vector<float> temperature;  ///< [rows] where the dump has one a row or a sequence; else empty
  std::string temperature_digest;
  std::vector<std::vector<float>> recorded;  ///< one [rows] for each of roles.recorded, fp32
  std::optional<TensorInfo> mask;  ///< that says which rows are active; of another file under FILE:NAME
  std::string targets_digest, mask_digest;  ///< of the stored bytes, hex; mask_digest "" without a mask
  std::vector<std::string> recorded_digests;
  std::vector<std::string> warnings;  ///< odd but legal input
};

/// Throws Fault::input for an active row whose target is ignore-index or outside [0, real_vocab), a mask
/// value that is neither 0 nor 1, a temperature that nothing can be divided by, and if no row is active
/// (nothing would be compared).
Inputs read_inputs(const Case& run, const DumpFile& dump);

/// How a stored logit of this row becomes a value: `rule` with the row's own temperature, if rows have one.
ValueRule rule_of_row(const Inputs& inputs, ValueRule rule, std::int64_t row);

}  // namespace drift
