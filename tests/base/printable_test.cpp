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

TEST_CASE("printable: characters that turn the direction of a line or break it are escaped") {
  CHECK(escaped("a\u202eb") == "a\\xe2\\x80\\xaeb");
  for (const char* one : {"\u061c", "\u200e", "\u200f", "\u2028", "\u2029", "\u202a", "\u202b", "\u202c",
                          "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069"}) {
    INFO(escaped(one));
    CHECK(has_control_characters(one));
    for (const char byte : escaped(one)) CHECK(static_cast<unsigned char>(byte) < 0x80);
  }
  for (const char* one : {"\u061b", "\u061d", "\u200d", "\u2010", "\u2027", "\u202f", "\u2065", "\u206a",
                          "\u2113", "\u0645", "\uff0e", "\U0001f40e"}) {
    INFO(one);
    CHECK(escaped(one) == one);
  }
}

}  // namespace drift
