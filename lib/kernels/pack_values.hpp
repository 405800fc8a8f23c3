#pragma once

#include <span>

#include "kernels/views.hpp"

namespace drift::cpu {

/// out[r * pitch + (c - columns.begin)] = fp32 value of every real column of the shard; the rest of a row is not written.
void pack_values(const LogitsView& logits, std::int64_t pitch, float* out);

/// From `gathered` [tp][rows][pitch], as pack_values wrote it on every rank, whole rows out [rows][vocab].
/// `bounds` (tp + 1 numbers) says which columns each rank packed. Copies only.
void assemble_rows(const float* gathered, std::span<const std::int64_t> bounds, std::int64_t rows, std::int64_t pitch,
                   std::int64_t vocab, float* out);

}  // namespace drift::cpu
