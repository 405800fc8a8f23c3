#pragma once

// Which tensor of a dump is logits, targets, mask, and what the user's system recorded.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dump/dump_file.hpp"
#include "dump/recorded.hpp"

namespace drift {

/// Names given on the command line; empty: found by the lists (roles.cpp).
struct RoleNames {
  std::string logits{}, targets{}, mask{};
  std::vector<std::string> recorded{};
  bool targets_are_input_ids = false;  ///< --targets-are input-ids
  bool targets_are_typed = false;      ///< --targets-are was given: nothing has to be guessed
};

struct Roles {
  TensorInfo logits;   ///< [T, V] or [B, S, V], BF16 F16 F32 F64; nameless without logits
  TensorInfo targets;  ///< one integer a row: I32 I64 U32; without logits it may be nameless: none
  std::optional<TensorInfo> mask;
  std::vector<Recorded> recorded;         ///< one float a row each
  std::optional<TensorInfo> temperature;  ///< one float a row or a sequence
  std::optional<TensorInfo> kept_ids, kept_offsets,
      kept_mask;                      ///< what a sampler kept of each row (kept_rows.hpp)
  std::vector<std::int64_t> leading;  ///< [T] or [B, S]: the shape of one value a row
  std::vector<std::int64_t>
      recorded_shape;  ///< without logits: of the recorded tensors, without dimensions of 1
  std::int64_t batch = 1, sequence = 0;
  std::int64_t rows = 0;              ///< batch * sequence
  std::int64_t padded_vocab = 0;      ///< the logits' last dimension; 0: there are no logits, pairs only
  std::vector<std::string> why;       ///< one sentence a decision, for `inspect`
  std::vector<std::string> warnings;  ///< what is there and has no effect

  bool has_logits() const { return padded_vocab > 0; }
  bool has_kept_sets() const { return kept_ids || kept_mask; }
};

/// The logits alone. Throws as find_roles.
TensorInfo find_logits(const DumpFile& dump, const RoleNames& names);

/// Throws Fault::input naming what is missing, ambiguous or of the wrong shape or dtype, with the list of
/// what is there. A dump without logits is one of pairs: at least two recorded tensors, with as many values
/// each
/// ("not comparable" otherwise). Opens other files that `names.recorded` speaks of.
Roles find_roles(const DumpFile& dump, const RoleNames& names);

/// The tensor of another file in the same role: of the same name as in the dump, else the only one of the
/// list.
std::optional<TensorInfo> counterpart_targets(const DumpFile& other, const std::string& name);
std::optional<TensorInfo> counterpart_mask(const DumpFile& other, const std::string& name);

}  // namespace drift
