#pragma once

// Which tensor of a dump is logits, targets, mask, and what the user's system recorded.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dump/dump_file.hpp"

namespace drift {

/// Names given on the command line; empty: found by the lists (roles.cpp).
struct RoleNames {
  std::string logits{}, targets{}, mask{};
  std::vector<std::string> recorded{};
  bool targets_are_input_ids = false;  ///< --targets-are input-ids
  bool targets_are_typed = false;      ///< --targets-are was given: nothing has to be guessed
};

struct Roles {
  TensorInfo logits;   ///< [T, V] or [B, S, V], BF16 F16 F32 F64
  TensorInfo targets;  ///< one integer a row: I32 I64 U32
  std::optional<TensorInfo> mask;
  std::vector<TensorInfo> recorded;  ///< one float a row each
  std::int64_t batch = 1, sequence = 0;
  std::int64_t rows = 0;              ///< batch * sequence
  std::int64_t padded_vocab = 0;      ///< the logits' last dimension
  std::vector<std::string> why;       ///< one sentence a decision, for `inspect`
  std::vector<std::string> warnings;  ///< what is there and has no effect
};

/// The logits alone. Throws as find_roles.
TensorInfo find_logits(const DumpFile& dump, const RoleNames& names);

/// Throws Fault::input naming what is missing, ambiguous or of the wrong shape or dtype, with the list of
/// what is there.
Roles find_roles(const DumpFile& dump, const RoleNames& names);

}  // namespace drift
