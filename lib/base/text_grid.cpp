#include "base/text_grid.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>

namespace drift {

namespace {

/// Columns of a terminal that UTF-8 text takes, as far as one a character is right.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; }));
}

}  // namespace

std::vector<std::string> aligned(const std::vector<std::vector<std::string>>& rows, std::size_t left,
                                 const std::string& indent) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::vector<std::string> out;
  for (const auto& row : rows) {
    std::string line = indent;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string gap(widths[i] - width_of(row[i]), ' ');
      line += (i == 0 ? "" : "  ") + (i < left ? row[i] + gap : gap + row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out.push_back(line);
  }
  return out;
}

std::vector<std::string> wrapped(const std::string& text, std::size_t width, const std::string& indent) {
  std::vector<std::string> out;
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    at = end + 1;
    if (line.empty()) {
      line = word;
    } else if (width_of(line) + 1 + width_of(word) <= width) {
      line += " " + word;
    } else {
      out.push_back(line);
      line = indent + word;
    }
  }
  out.push_back(line);
  return out;
}

std::string short_number(double value) {
  if (std::isnan(value)) return "nan";  // printf would show its sign
  std::array<char, 32> buffer{};
  const int length = std::snprintf(buffer.data(), buffer.size(), "%.3g", value);
  return std::string(buffer.data(), static_cast<std::size_t>(length));
}

std::string distinct_number(double value, double other) {
  if (std::fabs(value) < 0x1p53 && value == std::floor(value))
    return grouped(static_cast<std::int64_t>(value));
  const std::string text = short_number(value);
  if (text != short_number(other) || value == other || std::isnan(value)) return text;
  std::array<char, 32> buffer{};
  return std::string(buffer.data(), std::to_chars(buffer.begin(), buffer.end(), value).ptr);
}

std::string grouped(std::int64_t value) {
  std::string digits = std::to_string(value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string counted(std::int64_t count, const std::string& noun) {
  return grouped(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string byte_text(std::int64_t bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  std::array<char, 32> buffer{};
  const int length =
      std::snprintf(buffer.data(), buffer.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, units.at(unit));
  return std::string(buffer.data(), static_cast<std::size_t>(length));
}

}  // namespace drift
