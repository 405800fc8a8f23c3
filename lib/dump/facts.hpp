#pragma once

// What a dump's __metadata__ says about how its numbers were made.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dump/dump_file.hpp"
#include "dump/roles.hpp"

namespace drift {

/// Absent keys are empty. Only these exact keys are read; all others are the user's own notes.
struct DumpFacts {
  std::optional<double> temperature;  ///< > 0 and finite
  std::optional<std::int64_t> real_vocab_size, padded_vocab_size;
  std::optional<std::int64_t> ignore_index;
  std::optional<std::string> cp_layout;  ///< "contiguous" or "zigzag"
  std::optional<std::int64_t> tp_size, tp_rank, cp_size, cp_rank;
  std::vector<std::string> warnings;
};

/// Throws Fault::input for a value that is not what its key needs, and for sampling that cannot be audited
/// yet (top_k, top_p, min_p that remove tokens: log-probs over a truncated vocabulary).
DumpFacts read_facts(const DumpFile& dump);

/// Throws Fault::input where the facts and the logits' last dimension contradict each other.
void check_facts(const DumpFile& dump, const DumpFacts& facts, const Roles& roles);

}  // namespace drift
