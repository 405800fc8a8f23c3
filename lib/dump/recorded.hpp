#pragma once

// Log-probs and LSEs that the user's system recorded: which tensors, in which file.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dump/dump_file.hpp"

namespace drift {

enum class RecordedKind { logp, lse };

struct Recorded {
  std::string name;  ///< in reports: the tensor's name; FILE:NAME as typed where another file holds it
  std::string file;  ///< as typed; "": the dump itself
  TensorInfo tensor;
  RecordedKind kind = RecordedKind::logp;
  std::shared_ptr<const DumpFile> other;  ///< nullptr: the dump itself

  const DumpFile& in(const DumpFile& dump) const { return other ? *other : dump; }
};

/// `words` are NAME, FILE:NAME, NAME=lse, FILE:NAME=logp, ... A word that is a tensor's name in `dump` is
/// that tensor, whatever colons it holds; else the last colon divides. Each other file is opened once. A
/// tensor named twice counts once. Throws Fault::input for a tensor that is not there, and what
/// DumpFile::open throws for a file.
std::vector<Recorded> named_recorded(const DumpFile& dump, const std::vector<std::string>& words);

/// The word that selects it again: its name, and its kind where that is not logp.
std::string word_of(const Recorded& recorded);

/// The tensors of `dump` that go by a known log-prob name, in the order of the list.
std::vector<Recorded> listed_recorded(const DumpFile& dump);

/// What the list calls them, for messages.
std::string known_recorded_names();

/// True if the name is one that rollout engines (not trainers) give their log-probs.
bool is_rollout_name(std::string_view name);

}  // namespace drift
