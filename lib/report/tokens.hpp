#pragma once

// tokens.safetensors: every row's numbers, so that two runs can be compared token by token.

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace drift {

/// One element a row in global row order, everywhere.
struct TokenColumns {
  std::span<const std::uint8_t> active;  ///< 0 or 1
  std::span<const std::int64_t> target;  ///< -1 in inactive rows; empty: no such column
  std::span<const std::int32_t>
      owner;  ///< TP rank that owns the target's column; -1 in inactive rows; likewise
  /// "oracle_lse", "oracle_logp", "<formula>_lse", "<formula>_logp", then recorded tensors under their own
  /// names, as fp32.
  std::vector<std::pair<std::string, std::span<const float>>> values;
};

/// Write them durably, with the row numbers as "row". A recorded tensor whose name is taken is written as
/// "recorded.<name>". Throws Fault::io on a write error, Fault::internal if lengths differ.
void write_tokens(const std::string& path, const TokenColumns& columns);

struct TokenTable {
  std::vector<std::uint8_t> active;
  std::vector<std::int64_t> target;                                ///< empty where the file has none
  std::vector<std::int32_t> owner;                                 ///< likewise
  std::vector<std::pair<std::string, std::vector<float>>> values;  ///< in the order they were written
};

/// Read what `write_tokens` wrote. Throws Fault::io if the file is unreadable, Fault::input if it is
/// something else.
TokenTable read_tokens(const std::string& path);

}  // namespace drift
