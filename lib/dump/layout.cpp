#include "dump/layout.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "dump/text.hpp"

namespace drift {

std::string place_tensor(TensorInfo& tensor, std::uint64_t begin, std::uint64_t end) {
  const std::string shown = std::string(name(tensor.dtype)) + " " + shape_text(tensor.shape);
  const std::string range = "data_offsets [" + std::to_string(begin) + ", " + std::to_string(end) + "]";

  // A zero may not hide an overflow: [0, 2^62, 4] is 0 elements to one reader and an error to another.
  std::optional<std::uint64_t> product = 1;
  bool none = false;
  for (const std::int64_t size : tensor.shape) {
    none = none || size == 0;
    if (product && size != 0) product = checked_mul(*product, static_cast<std::uint64_t>(size));
  }
  const auto product_bits =
      product ? checked_mul(*product, static_cast<std::uint64_t>(bits(tensor.dtype))) : std::nullopt;
  if (!product_bits || *product > std::numeric_limits<std::int64_t>::max())
    return "the size of " + shown + " does not fit 64 bits";
  const std::uint64_t all_bits = none ? 0 : *product_bits;
  if (all_bits % 8 != 0)
    return shown + " is " + std::to_string(all_bits) + " bits, wanted a multiple of 8 (data is whole bytes)";

  if (begin > end) return range + " end before they begin";
  if (end - begin != all_bits / 8)
    return range + " hold " + std::to_string(end - begin) + " bytes, wanted " + std::to_string(all_bits / 8) +
           " for " + shown;
  tensor.elements = none ? 0 : static_cast<std::int64_t>(*product);
  tensor.offset = static_cast<std::int64_t>(begin);
  tensor.bytes = static_cast<std::int64_t>(end - begin);
  return "";
}

void check_layout(const std::string& path, std::vector<TensorInfo>& tensors, std::int64_t data_bytes) {
  const auto end_of = [](const TensorInfo& tensor) { return tensor.offset + tensor.bytes; };
  std::stable_sort(tensors.begin(), tensors.end(), [&](const TensorInfo& a, const TensorInfo& b) {
    return std::pair(a.offset, end_of(a)) < std::pair(b.offset, end_of(b));
  });
  std::int64_t end = 0;
  std::string previous;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.offset != end) {
      const std::string where =
          previous.empty() ? "the start of the data" : "the end of " + in_quotes(previous);
      const std::string how = tensor.offset > end ? " (a hole of unnamed bytes)" : " (the two overlap)";
      throw Error(Fault::input, path + ": tensor " + in_quotes(tensor.name) + " begins at byte " +
                                    std::to_string(tensor.offset) + " of the data, wanted " +
                                    std::to_string(end) + ", " + where + how);
    }
    end = end_of(tensor);
    previous = tensor.name;
  }
  if (end == data_bytes) return;
  const std::string what =
      end > data_bytes ? "the file is cut short" : "bytes are left over after the last tensor";
  throw Error(Fault::input, path + ": " + what + (previous.empty() ? "" : ", " + in_quotes(previous)) +
                                ": seen " + std::to_string(data_bytes) + " bytes of data, wanted " +
                                std::to_string(end));
}

}  // namespace drift
