#include "base/dtype.hpp"

#include <array>

namespace drift {
namespace {

struct Row {
  std::string_view name;
  int bits;
};

constexpr std::array<Row, 22> table{{{"BOOL", 8},        {"F4", 4},          {"F6_E2M3", 6}, {"F6_E3M2", 6},
                                     {"U8", 8},          {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8},
                                     {"F8_E8M0", 8},     {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8},
                                     {"I16", 16},        {"U16", 16},        {"F16", 16},    {"BF16", 16},
                                     {"I32", 32},        {"U32", 32},        {"F32", 32},    {"C64", 64},
                                     {"F64", 64},        {"I64", 64},        {"U64", 64}}};

const Row& row(Dtype dtype) { return table[static_cast<std::size_t>(dtype)]; }

}  // namespace

int bits(Dtype dtype) { return row(dtype).bits; }
std::string_view name(Dtype dtype) { return row(dtype).name; }
std::int64_t bytes(Dtype dtype) { return row(dtype).bits / 8; }

std::optional<Dtype> dtype_named(std::string_view name) {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table[i].name == name) return static_cast<Dtype>(i);
  return std::nullopt;
}

bool is_logits_dtype(Dtype dtype) {
  return dtype == Dtype::BF16 || dtype == Dtype::F16 || dtype == Dtype::F32 || dtype == Dtype::F64;
}

}  // namespace drift
