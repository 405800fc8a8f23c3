#pragma once

// Names that users and files gave, in messages and lines: safe for terminals, and never more than one line.

#include <string>
#include <string_view>

namespace drift {

/// `text` with control characters (line breaks and changes of writing direction, too) and what is not UTF-8
/// as \xNN; after `most` bytes, "...".
std::string escaped(std::string_view text, std::size_t most = std::string_view::npos);
/// Whether escaped() would change it.
bool has_control_characters(std::string_view text);
/// The same for a message of several lines: they stay lines.
std::string escaped_lines(std::string_view text);

}  // namespace drift
