#include "dump/text.hpp"

#include <algorithm>

#include "base/printable.hpp"

namespace drift {

std::string printable(std::string_view text) { return escaped(text, 80); }

std::string in_quotes(std::string_view text) { return '"' + printable(text) + '"'; }

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string out = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) out += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return out + "]";
}

std::string describe(const TensorInfo& tensor) {
  return in_quotes(tensor.name) + " " + std::string(name(tensor.dtype)) + " " + shape_text(tensor.shape);
}

std::string list_of(std::span<const TensorInfo> tensors) {
  if (tensors.empty()) return "no tensors";
  std::string out;
  for (const TensorInfo& tensor : tensors.first(std::min<std::size_t>(tensors.size(), 20)))
    out += (out.empty() ? "" : ", ") + describe(tensor);
  if (tensors.size() > 20) out += " and " + std::to_string(tensors.size() - 20) + " more";
  return out;
}

}  // namespace drift
