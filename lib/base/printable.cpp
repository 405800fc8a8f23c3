#include "base/printable.hpp"

#include <algorithm>

namespace drift {
namespace {

/// U+061C U+200E U+200F U+2028..202E U+2066..2069: they turn or break a line, so that it reads as another
/// one.
bool moves_text(unsigned lead, unsigned second, unsigned third) {
  if (lead == 0xd8) return second == 0x9c;
  if (lead != 0xe2) return false;
  if (second == 0x80) return third == 0x8e || third == 0x8f || (0xa8 <= third && third <= 0xae);
  return second == 0x81 && 0xa6 <= third && third <= 0xa9;
}

/// Bytes of the well-formed UTF-8 sequence that starts `text`; 0 if none does or if it is a control
/// character.
std::size_t sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7f ? 1 : 0;
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xc0u) != 0x80u) return 0;
  const unsigned second = byte(1);
  const bool bad = (lead == 0xc2 && second < 0xa0) ||  // U+0080..9F: terminals may obey them
                   (lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
                   (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f) ||
                   moves_text(lead, second, size > 2 ? byte(2) : 0);
  return bad ? 0 : size;
}

}  // namespace

std::string escaped(std::string_view text, std::size_t most) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  while (!text.empty()) {
    if (out.size() >= most) return out + "...";
    const std::size_t size = sequence(text);
    if (size > 0) {
      out += text.substr(0, size);
    } else {
      const auto byte = static_cast<unsigned char>(text[0]);
      out += "\\x";
      out += digits[byte >> 4];
      out += digits[byte & 15];
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return out;
}

bool has_control_characters(std::string_view text) { return escaped(text) != text; }

std::string escaped_lines(std::string_view text) {
  std::string out;
  for (;;) {
    const std::size_t end = text.find('\n');
    out += escaped(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    out += '\n';
    text.remove_prefix(end + 1);
  }
}

}  // namespace drift
