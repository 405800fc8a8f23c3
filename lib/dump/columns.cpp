#include "dump/columns.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/float16.hpp"
#include "dump/text.hpp"
#include "dump/widen.hpp"

namespace drift {
namespace {

std::vector<std::byte> bytes_of(const DumpFile& dump, const TensorInfo& tensor) {
  std::vector<std::byte> out(static_cast<std::size_t>(tensor.bytes));
  dump.read(tensor.offset, out);
  return out;
}

template <class Stored>
Stored element(std::span<const std::byte> bytes, std::size_t i) {
  Stored value;
  std::memcpy(&value, bytes.data() + i * sizeof(Stored), sizeof(Stored));
  return value;
}

template <class Stored>
std::vector<std::int64_t> integers(std::span<const std::byte> bytes) {
  std::vector<std::int64_t> out(bytes.size() / sizeof(Stored));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::int64_t>(element<Stored>(bytes, i));
  return out;
}

/// The shortest text that reads back as the value.
std::string shown(double value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

/// Every element as 0 or 1, compared as `as_double` of what is stored.
template <class Stored, class AsDouble>
std::vector<std::uint8_t> zeros_and_ones(const DumpFile& dump, const TensorInfo& tensor, AsDouble as_double) {
  const std::vector<std::byte> bytes = bytes_of(dump, tensor);
  std::vector<std::uint8_t> out(static_cast<std::size_t>(tensor.elements));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double value = as_double(element<Stored>(bytes, i));
    if (value != 0 && value != 1)
      throw Error(Fault::input, dump.shown_path() + ": mask " + describe(tensor) + ": element " +
                                    std::to_string(i) + " is " + shown(value) +
                                    ", wanted 0 or 1 (weights are not a mask)");
    out[i] = value == 1;
  }
  return out;
}

}  // namespace

std::vector<std::int64_t> read_integers(const DumpFile& dump, const TensorInfo& tensor) {
  switch (tensor.dtype) {
    case Dtype::U8: return integers<std::uint8_t>(bytes_of(dump, tensor));
    case Dtype::I8: return integers<std::int8_t>(bytes_of(dump, tensor));
    case Dtype::U16: return integers<std::uint16_t>(bytes_of(dump, tensor));
    case Dtype::I16: return integers<std::int16_t>(bytes_of(dump, tensor));
    case Dtype::I32: return integers<std::int32_t>(bytes_of(dump, tensor));
    case Dtype::I64: return integers<std::int64_t>(bytes_of(dump, tensor));
    case Dtype::U32: return integers<std::uint32_t>(bytes_of(dump, tensor));
    default: break;
  }
  throw Error(Fault::input, dump.shown_path() + ": " + describe(tensor) +
                                ": wanted whole numbers that 64 bits with a sign hold");
}

std::vector<std::uint8_t> read_mask(const DumpFile& dump, const TensorInfo& tensor) {
  const auto plain = [](auto value) { return static_cast<double>(value); };
  switch (tensor.dtype) {
    case Dtype::BOOL:
    case Dtype::U8: return zeros_and_ones<std::uint8_t>(dump, tensor, plain);
    case Dtype::I8: return zeros_and_ones<std::int8_t>(dump, tensor, plain);
    case Dtype::I16: return zeros_and_ones<std::int16_t>(dump, tensor, plain);
    case Dtype::U16: return zeros_and_ones<std::uint16_t>(dump, tensor, plain);
    case Dtype::I32: return zeros_and_ones<std::int32_t>(dump, tensor, plain);
    case Dtype::U32: return zeros_and_ones<std::uint32_t>(dump, tensor, plain);
    case Dtype::I64: return zeros_and_ones<std::int64_t>(dump, tensor, plain);
    case Dtype::U64: return zeros_and_ones<std::uint64_t>(dump, tensor, plain);
    case Dtype::F16: return zeros_and_ones<std::uint16_t>(dump, tensor, widen_f16);
    case Dtype::BF16: return zeros_and_ones<std::uint16_t>(dump, tensor, widen_bf16);
    case Dtype::F32: return zeros_and_ones<float>(dump, tensor, plain);
    case Dtype::F64: return zeros_and_ones<double>(dump, tensor, plain);
    default: break;
  }
  throw Error(Fault::input, dump.shown_path() + ": mask " + describe(tensor) +
                                ": wanted BOOL, a whole number type, or BF16 F16 F32 F64");
}

std::vector<float> read_floats(const DumpFile& dump, const TensorInfo& tensor) {
  require(is_logits_dtype(tensor.dtype), Fault::input,
          dump.shown_path() + ": " + describe(tensor) + ": wanted BF16, F16, F32 or F64");
  std::vector<float> out(static_cast<std::size_t>(tensor.elements));
  widen(tensor.dtype, bytes_of(dump, tensor), out);
  return out;
}

std::int64_t rounded_values(const DumpFile& dump, const TensorInfo& tensor) {
  if (tensor.dtype != Dtype::F64) return 0;
  const std::vector<std::byte> stored = bytes_of(dump, tensor);
  std::int64_t out = 0;
  for (std::int64_t i = 0; i < tensor.elements; ++i) {
    const auto value = element<double>(stored, static_cast<std::size_t>(i));
    const auto narrow = static_cast<double>(static_cast<float>(value));
    out += value < narrow || value > narrow;
  }
  return out;
}

Digest digest_of(const DumpFile& dump, const TensorInfo& tensor) {
  constexpr std::int64_t piece = 8 << 20;
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(piece, tensor.bytes)));
  Digester digester;
  for (std::int64_t at = 0; at < tensor.bytes; at += piece) {
    const auto part = std::span(buffer).first(static_cast<std::size_t>(std::min(piece, tensor.bytes - at)));
    dump.read(tensor.offset + at, part);
    digester.update(part);
  }
  return digester.finish();
}

void read_logits(const DumpFile& dump, const Roles& roles, std::span<const Range> rows, Range columns,
                 std::int64_t pitch, std::span<std::byte> out) {
  const std::int64_t width = bytes(roles.logits.dtype);
  const auto in = [](Range part, std::int64_t size) {
    return 0 <= part.begin && part.begin <= part.end && part.end <= size;
  };
  require(in(columns, roles.padded_vocab) && pitch >= columns.size(), Fault::internal,
          "read_logits: columns outside the logits, or a pitch below their number");
  std::int64_t all = 0;
  for (const Range& part : rows) {
    require(in(part, roles.rows), Fault::internal, "read_logits: rows outside the logits");
    all += part.size();
  }
  const auto pitch_bytes = checked_mul(static_cast<std::uint64_t>(pitch), static_cast<std::uint64_t>(width));
  const auto needed = pitch_bytes ? checked_mul(*pitch_bytes, static_cast<std::uint64_t>(all)) : pitch_bytes;
  require(needed && *needed <= out.size(), Fault::internal, "read_logits: the buffer is too small");
  if (columns.empty()) return;

  // Every product below is at most the file's size or the buffer's.
  const std::int64_t row_bytes = roles.padded_vocab * width;
  const bool whole = columns.size() == roles.padded_vocab && pitch == roles.padded_vocab;
  std::size_t at = 0;
  for (const Range& part : rows) {
    if (whole) {
      const auto size = static_cast<std::size_t>(part.size() * row_bytes);
      dump.read(roles.logits.offset + part.begin * row_bytes, out.subspan(at, size));
      at += size;
      continue;
    }
    const auto size = static_cast<std::size_t>(columns.size() * width);
    for (std::int64_t row = part.begin; row < part.end; ++row, at += static_cast<std::size_t>(*pitch_bytes))
      dump.read(roles.logits.offset + row * row_bytes + columns.begin * width, out.subspan(at, size));
  }
}

}  // namespace drift
