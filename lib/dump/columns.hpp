#pragma once

// Small per-row tensors read whole, and blocks of the logits.

#include <cstdint>
#include <span>
#include <vector>

#include "base/range.hpp"
#include "dump/dump_file.hpp"
#include "dump/roles.hpp"

namespace drift {

/// Whole numbers as they are (not U64, which may not fit), [elements].
std::vector<std::int64_t> read_integers(const DumpFile& dump, const TensorInfo& tensor);
/// 0/1 in any dtype; throws Fault::input with position and value of the first that is neither.
std::vector<std::uint8_t> read_mask(const DumpFile& dump, const TensorInfo& tensor);
/// BF16 F16 F32 as they are, F64 rounded once to nearest even.
std::vector<float> read_floats(const DumpFile& dump, const TensorInfo& tensor);
/// How many values of an F64 tensor that rounding changes; NaNs are held. 0 for any other dtype.
std::int64_t rounded_values(const DumpFile& dump, const TensorInfo& tensor);
/// xxh3-128 of the tensor's bytes, read in pieces.
Digest digest_of(const DumpFile& dump, const TensorInfo& tensor);

/// Columns `columns` of the rows in `rows` (of the flattened [rows, padded_vocab] logits), packed at `pitch`
/// elements a row. Whole rows at pitch == padded_vocab are read in one piece a range. `out` has room for
/// every row.
void read_logits(const DumpFile& dump, const Roles& roles, std::span<const Range> rows, Range columns,
                 std::int64_t pitch, std::span<std::byte> out);

}  // namespace drift
