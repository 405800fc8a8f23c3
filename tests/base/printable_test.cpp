#include "base/printable.hpp"

#include "support/catch.hpp"

namespace drift {

TEST_CASE("printable: control characters and what is not UTF-8 are escaped, all else stays") {
  CHECK(escaped("plain \xc3\xa4 'q'") == "plain \xc3\xa4 'q'");
  CHECK(escaped("a\nb\x1b[2J\x7f") == "a\\x0ab\\x1b[2J\\x7f");
  CHECK(escaped("\xff\xc2\x9b") == "\\xff\\xc2\\x9b");
  CHECK(escaped("abcdef", 3) == "abc...");
  CHECK(escaped("abc", 3) == "abc");
  CHECK(has_control_characters("a\tb"));
  CHECK_FALSE(has_control_characters("a b"));
  CHECK(escaped_lines("a\x1b\nb\n") == "a\\x1b\nb\n");
}

}  // namespace drift
