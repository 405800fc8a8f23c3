#pragma once

// How names, shapes and tensors are written in messages: safe for terminals and JSON whatever a file holds.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "dump/dump_file.hpp"

namespace drift {

/// At most 80 bytes of `text`; control characters and what is not UTF-8 as \xNN.
std::string printable(std::string_view text);
/// printable(text) in double quotes.
std::string in_quotes(std::string_view text);
/// "[4, 12, 151936]"
std::string shape_text(std::span<const std::int64_t> shape);
/// "\"logits\" BF16 [4, 12, 151936]"
std::string describe(const TensorInfo& tensor);
/// describe() of every tensor, at most 20 of them.
std::string list_of(std::span<const TensorInfo> tensors);

}  // namespace drift
