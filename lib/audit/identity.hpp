#pragma once

// Recorded tensors of several files are comparable only if they are about the same tokens.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "audit/case.hpp"

namespace drift {

/// Which rows a file says are active: by its mask, or by targets of which some are the ignore-index.
struct Activity {
  std::vector<std::uint8_t> rows;  ///< [rows], 0 or 1
  const DumpFile* file = nullptr;
  std::optional<TensorInfo> mask;  ///< what says so; empty: the targets do
};

/// What the dump says, else the first other file that says anything; empty: nobody does, and every row
/// counts. Throws Fault::input for a mask that is none, or of another number of rows.
std::optional<Activity> stated_activity(const Case& run, const DumpFile& dump);

/// Compares what the dump and the other files of recorded tensors say about their rows: which are active;
/// targets and row keys (sequence ids, positions, token ids) of the active ones; and the metadata
/// policy_version, checkpoint, tokenizer, sequence_ids; each where two files have it. Throws Fault::input,
/// "not comparable", with the first difference, or that the same rows come in another order. Returns
/// warnings: facts that differ and would explain drift (temperature).
std::vector<std::string> check_identity(const Case& run, const DumpFile& dump);

}  // namespace drift
