#pragma once

// The options of `run` as a table: the command line, --help, the report's `case`, the case id and the
// reproduce line are all read from it, so an option that is added here is added everywhere.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "audit/config.hpp"
#include "base/value.hpp"

namespace drift {

/// The Config field that an option fills.
using Member = std::variant<bool Config::*, std::int64_t Config::*, double Config::*, std::string Config::*,
                            std::vector<std::int64_t> Config::*, std::vector<std::string> Config::*>;

/// What the words after an option are.
enum class Arity {
  flag,      ///< none
  one,       ///< one value
  list,      ///< one word of values with commas between them
  repeated,  ///< one value each time; the option may be given again
};

struct Option {
  std::string_view name = {};    ///< kebab-case, without the dashes: "cp-layout"
  std::string_view letter = {};  ///< one-letter form, or ""
  std::string_view group = {};   ///< heading in --help
  std::string_view value = {};   ///< what --help calls the value: "N", "ID,..."
  std::string_view help = {};
  std::string_view default_text = {};
  std::vector<std::string_view> choices = {};  ///< empty: anything
  Arity arity = Arity::one;
  bool in_case = true;  ///< can change a number or the verdict: stands in `case`, in the case id and in the
                        ///< reproduce line
  Member member = {};
  double least = 0;    ///< numbers only: the smallest that is accepted
  bool above = false;  ///< numbers only: `least` itself is not accepted
};

/// In the order of Config and of the report's `case`.
std::span<const Option> run_options();
/// nullptr if there is none of that kebab-case name.
const Option* find_option(std::string_view name);

/// The JSON key of an option: "cp-layout" -> "cp_layout".
std::string key_of(std::string_view name);

/// Put the words that followed an option on the command line into `config` and remember that it was typed.
/// Throws Fault::usage naming option, value and what is wanted.
void set_option(Config& config, const Option& option, std::span<const std::string> words);

/// Checks that need more than one option or a grammar: the size of tp x cp, tolerances that exclude each
/// other, gates. Throws Fault::usage.
void check_options(const Config& config);

/// The options that can change a number or the verdict, as they stand in `config`: what `case_id` is made of
/// when `config` comes straight from the command line. --atol and --rtol are absent unless given.
NamedValues option_values(const Config& config);
/// The same with "dump" first: the report's `case`.
NamedValues case_values(const Config& config);

/// Which of the typed options a command line is rebuilt from.
enum class Which {
  in_case,  ///< of the reproduce line: without --out --force --collective-timeout -q -v
  all,      ///< without --dry-run only
};
/// {"run", DUMP, "--tp", "2", ...}: parses back to the same Config, as far as `which` goes.
std::vector<std::string> to_arguments(const Config& config, Which which = Which::in_case);

/// The shortest text that reads back as the same double.
std::string to_text(double value);

}  // namespace drift
