#pragma once

// The JSON header of a safetensors file, read strictly: what two readers could understand differently is
// refused.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "dump/dump_file.hpp"

namespace drift {

struct Header {
  std::vector<TensorInfo> tensors;  ///< `offset` counts from the end of the header
  std::map<std::string, std::string> metadata;
  std::vector<std::string> warnings;
};

inline constexpr std::uint64_t header_limit = 100'000'000;  ///< bytes; the format's own cap
inline constexpr std::size_t tensor_limit = 1'000'000;
inline constexpr std::size_t rank_limit = 8;
inline constexpr std::size_t name_limit = 1024;  ///< bytes
inline constexpr int depth_limit = 4;            ///< of nested JSON objects and lists

/// Parse the header and check every tensor by itself: name, dtype, shape, product, size of its range.
/// Throws Fault::input; messages begin with `path`.
Header parse_header(const std::string& path, std::string_view text);

}  // namespace drift
