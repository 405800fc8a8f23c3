// What --help says of options whose default is the command's own.

#include "drift-audit/command_line.hpp"

#include "base/error.hpp"
#include "support/catch.hpp"

namespace drift {
namespace {

/// The help of one command, every run of blanks and line breaks as one blank.
std::string help(const std::string& command) {
  const std::string text = std::get<TextRequest>(parse_command_line({command, "--help"})).text;
  std::string out;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n';
    if (!blank || (!out.empty() && out.back() != ' ')) out += blank ? ' ' : c;
  }
  return out;
}

bool has(const std::string& text, const std::string& part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("help: explain shows its own defaults, run its own") {
  const std::string run = help("run"), explain = help("explain");
  CHECK(has(run, "accepts the run [fixed-tree]"));
  CHECK(has(explain, "accepts the run [all]"));
  CHECK(has(run, "the rows are cut N ways [1]"));
  CHECK(has(explain, "the rows are cut N ways [the number of ranks, 1 with --tp]"));
  CHECK(has(run, "print the verdict line only"));
  CHECK(has(explain, "print the sentences only"));
}

TEST_CASE("help: explain offers nothing that it cannot use") {
  const std::string explain = help("explain");
  for (const char* option :
       {"--candidate-dtype", "--require", "--gate", "--pair", "--plugin", "--strata", "--atol"}) {
    INFO(option);
    CHECK_FALSE(has(explain, option));
    CHECK_THROWS_AS(parse_command_line({"explain", "d", option, "x"}), Error);
  }
  for (const char* option : {"--recorded", "--certify", "--rows-per-chunk"}) CHECK(has(explain, option));
}

TEST_CASE("help: a gate on a name with dots") {
  CHECK(has(help("run"), "'pairs[\"old:d/x.safetensors:y\"].metrics.k3 <= 1e-3'"));
}

}  // namespace drift
