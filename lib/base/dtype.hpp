#pragma once

// The element types of safetensors, in the order of its specification.

#include <cstdint>
#include <optional>
#include <string_view>

namespace drift {

enum class Dtype : std::uint8_t {
  BOOL, F4, F6_E2M3, F6_E3M2, U8, I8, F8_E5M2, F8_E4M3, F8_E8M0, F8_E4M3FNUZ, F8_E5M2FNUZ,
  I16, U16, F16, BF16, I32, U32, F32, C64, F64, I64, U64
};

/// Bits of one element: 4 to 64.
int bits(Dtype);
/// The name that safetensors headers and reports use, e.g. "BF16".
std::string_view name(Dtype);
/// The dtype of exactly that name.
std::optional<Dtype> dtype_named(std::string_view);
/// BF16, F16, F32 or F64: what logits may be stored as.
bool is_logits_dtype(Dtype);
/// Bytes of one element of a whole-byte dtype.
std::int64_t bytes(Dtype);

}  // namespace drift
