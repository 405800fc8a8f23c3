#pragma once

// What `inspect` prints: the file, its tensors, what `run` would use and why, or why it would refuse.

#include <cstdint>
#include <optional>
#include <string>

#include "dump/dump_file.hpp"
#include "dump/facts.hpp"
#include "dump/roles.hpp"

namespace drift {

/// Text for the user, ending in a newline. Works for every well-formed file, also without logits; reads the
/// logits once. `real_vocab` and `overridden` (facts.hpp): what the command line says instead of the
/// metadata. Throws Fault::io or Fault::input only if the file fails while it is read.
std::string inspect_report(const DumpFile& dump, const RoleNames& names,
                           std::optional<std::int64_t> real_vocab = std::nullopt,
                           const Overridden& overridden = {});

}  // namespace drift
