#include "report/number.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace drift {

Json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

std::string bits_text(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  std::string out = "0x";
  for (int shift = 28; shift >= 0; shift -= 4) out += "0123456789abcdef"[(bits >> shift) & 15];
  return out;
}

std::optional<double> number_of(const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (!json.is_string()) return std::nullopt;
  const auto& text = json.get_ref<const std::string&>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

std::string document(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace drift
