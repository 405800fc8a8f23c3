#pragma once

// Numbers as a sentence shows them. Private to lib/explain.

#include <array>
#include <charconv>
#include <cstdint>
#include <string>

namespace drift::hypothesis {

/// The shortest text that reads back as the same fp32 value: "0.7", "0.69921875".
inline std::string shortest(float value) {
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end.ptr};
}
inline std::string shortest(double value) {
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end.ptr};
}
/// Two significant digits: "4.8e-07".
inline std::string about(double value) {
  std::array<char, 64> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 2);
  return {text.data(), end.ptr};
}
inline std::string text_of(std::int64_t value) { return std::to_string(value); }
/// "1 token", "3 tokens".
inline std::string counted(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace drift::hypothesis
