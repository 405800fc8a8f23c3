#pragma once

// Recorded tensors of several files are comparable only if they are about the same tokens.

#include "audit/case.hpp"

namespace drift {

/// Compares what the dump and the other files of recorded tensors say about their rows: targets (of the
/// active rows), masks, row keys (sequence ids, positions, token ids) and the metadata policy_version,
/// checkpoint, tokenizer, sequence_ids; each where two files have it. Throws Fault::input, "not comparable",
/// with the first difference, or that the same rows come in another order. Returns warnings: facts that
/// differ and would explain drift (temperature).
std::vector<std::string> check_identity(const Case& run, const DumpFile& dump);

}  // namespace drift
