#pragma once

// Words and numbers as people read them: in aligned columns, in lines of a bearable width.

#include <cstdint>
#include <string>
#include <vector>

namespace drift {

/// The first `left` columns are set left, the others right; two spaces between. Trailing blanks are cut.
std::vector<std::string> aligned(const std::vector<std::vector<std::string>>& rows, std::size_t left,
                                 const std::string& indent = "");

/// Lines of at most `width` characters, broken at blanks; all but the first begin with `indent`. A longer
/// word has a line of its own.
std::vector<std::string> wrapped(const std::string& text, std::size_t width, const std::string& indent);

/// Three significant digits: "1.19e-07", "0", "0.0312", "nan".
std::string short_number(double value);
/// `short_number`, but a whole number as it is, grouped, and with all its digits where three would show
/// `other`.
std::string distinct_number(double value, double other);
/// Thousands grouped: 12,345,678.
std::string grouped(std::int64_t value);
/// "1 row", "1,234 rows".
std::string counted(std::int64_t count, const std::string& noun);
/// "64.0 MiB", "512 B"
std::string byte_text(std::int64_t bytes);

}  // namespace drift
