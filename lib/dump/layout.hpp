#pragma once

// Sizes and places of tensors: 64-bit products, and ranges that fill the data exactly.

#include <cstdint>
#include <string>
#include <vector>

#include "dump/dump_file.hpp"

namespace drift {

/// Fill elements, offset and bytes of a tensor whose dtype and shape are set and which occupies [begin, end)
/// of the data; both at most 2^63 - 1. Returns what is wrong, or nothing.
std::string place_tensor(TensorInfo& tensor, std::uint64_t begin, std::uint64_t end);

/// Sort by offset and check that the ranges fill [0, data_bytes) without hole, overlap or rest. Throws
/// Fault::input.
void check_layout(const std::string& path, std::vector<TensorInfo>& tensors, std::int64_t data_bytes);

}  // namespace drift
