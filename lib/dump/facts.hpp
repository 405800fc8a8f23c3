#pragma once

// What a dump's __metadata__ says about how its numbers were made.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dump/dump_file.hpp"
#include "dump/roles.hpp"

namespace drift {

/// Absent keys are empty. Only these exact keys are read; all others are the user's own notes.
struct DumpFacts {
  std::optional<double> temperature;  ///< > 0 and finite
  /// Also read as real_vocab and padded_vocab.
  std::optional<std::int64_t> real_vocab_size, padded_vocab_size;
  std::optional<std::int64_t> ignore_index;
  std::optional<std::string> cp_layout;  ///< "contiguous" or "zigzag"
  std::optional<std::int64_t> top_k;     ///< <= 0: off
  std::optional<double> top_p, min_p;    ///< in (0, 1], in [0, 1)
  /// "raw": recorded log-probs are over the whole vocabulary, whatever the sampler kept; "processed": over
  /// what it kept.
  std::optional<std::string> logprob_mode;
  std::optional<std::int64_t> tp_size, tp_rank, cp_size, cp_rank;
  std::vector<std::string> warnings;
};

/// Keys whose values the command line replaces: "temperature", "real_vocab_size", "ignore_index",
/// "cp_layout", "top_k", "top_p", "min_p".
using Overridden = std::set<std::string>;

/// Throws Fault::input for a value that is not what its key needs. A wrong value of an overridden key is a
/// warning, and the key is left empty.
DumpFacts read_facts(const DumpFile& dump, const Overridden& overridden = {});

/// Throws Fault::input where the facts and the logits' last dimension contradict each other; a warning for an
/// overridden key, as above.
void check_facts(const DumpFile& dump, DumpFacts& facts, const Roles& roles,
                 const Overridden& overridden = {});

}  // namespace drift
