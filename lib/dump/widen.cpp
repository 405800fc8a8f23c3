#include "dump/widen.hpp"

#include <cstdint>
#include <cstring>

#include "base/error.hpp"
#include "base/float16.hpp"

namespace drift {
namespace {

template <class Stored, class Convert>
void each(std::span<const std::byte> stored, std::span<float> out, Convert convert) {
  require(stored.size() == out.size() * sizeof(Stored), Fault::internal, "widen: sizes do not match");
  for (std::size_t i = 0; i < out.size(); ++i) {
    Stored value;
    std::memcpy(&value, stored.data() + i * sizeof(Stored), sizeof(Stored));
    out[i] = convert(value);
  }
}

}  // namespace

void widen(Dtype dtype, std::span<const std::byte> stored, std::span<float> out) {
  switch (dtype) {
    case Dtype::BF16: return each<std::uint16_t>(stored, out, widen_bf16);
    case Dtype::F16: return each<std::uint16_t>(stored, out, widen_f16);
    case Dtype::F32: return each<float>(stored, out, [](float value) { return value; });
    case Dtype::F64: return each<double>(stored, out, [](double value) { return static_cast<float>(value); });
    default: throw Error(Fault::internal, "widen: " + std::string(name(dtype)) + " is not a float of logits");
  }
}

}  // namespace drift
