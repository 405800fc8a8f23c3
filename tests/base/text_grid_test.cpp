#include "base/text_grid.hpp"

#include <limits>

#include "support/catch.hpp"

using namespace drift;

TEST_CASE("text_grid: numbers for people") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(-1234567) == "-1,234,567");
  CHECK(short_number(0) == "0");
  CHECK(short_number(1.1920929e-07) == "1.19e-07");
  CHECK(short_number(-std::numeric_limits<double>::quiet_NaN()) == "nan");
  CHECK(counted(0, "row") == "0 rows");
  CHECK(counted(1, "row") == "1 row");
  CHECK(counted(1234, "row") == "1,234 rows");
  CHECK(byte_text(1023) == "1023 B");
  CHECK(byte_text(64 << 20) == "64.0 MiB");
}

TEST_CASE("text_grid: a number never looks like the one that it is held against") {
  CHECK(distinct_number(0.00012345, 0.0001) == "0.000123");
  CHECK(distinct_number(0.00010000499, 0.0001) == "0.00010000499");
  CHECK(distinct_number(0.0001, 0.0001) == "0.0001");
  CHECK(distinct_number(1234567, 0) == "1,234,567");
  CHECK(distinct_number(-0.0, 0) == "0");
  CHECK(distinct_number(std::numeric_limits<double>::quiet_NaN(), 0) == "nan");
  CHECK(distinct_number(std::numeric_limits<double>::infinity(), 0) == "inf");
  CHECK(distinct_number(1e300, 0) == "1e+300");
}

TEST_CASE("aligned: a character is one column, however many bytes it has") {
  CHECK(aligned({{"\u00e4", "1"}, {"b", "\u03c3"}}, 1) == std::vector<std::string>{"\u00e4  1", "b  \u03c3"});
}

TEST_CASE("wrapped: breaks at blanks, and never within a word") {
  CHECK(wrapped("a bc def ghij", 6, "  ") == std::vector<std::string>{"a bc", "  def", "  ghij"});
  CHECK(wrapped("a bc def", 8, "  ") == std::vector<std::string>{"a bc def"});
  CHECK(wrapped("a muchlongerthanthat b", 5, "") == std::vector<std::string>{"a", "muchlongerthanthat", "b"});
  CHECK(wrapped("", 5, "  ") == std::vector<std::string>{""});
}

TEST_CASE("aligned: some columns left, the others right, no blanks at the end") {
  CHECK(aligned({{"a", "1", "x"}, {"bcd", "23", ""}}, 1) ==
        std::vector<std::string>{"a     1  x", "bcd  23"});
}
