// From words on a command line to Config and back.

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "audit/options.hpp"
#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"
#include "report/gate.hpp"

namespace drift {
namespace {

constexpr std::array<std::string_view, 7> strata_names{
    "logp", "position", "mask_edge", "sequence_edge", "segment", "owner_tp_rank", "cp_chunk"};

/// Ranks are ints everywhere, and no machine comes near this many.
constexpr std::int64_t most_ranks = 1 << 20;

std::string dashed(const Option& option) { return "--" + std::string(option.name); }

[[noreturn]] void refuse(const Option& option, const std::string& word, const std::string& wanted) {
  throw Error(Fault::usage, dashed(option) + " cannot be '" + escaped(word) + "'; wanted " + wanted);
}

template <class Number>
Number parse(const Option& option, const std::string& word, const std::string& wanted) {
  Number number{};
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  if (error != std::errc{} || stop != end) refuse(option, word, wanted);
  return number;
}

std::string range_text(const Option& option) {
  if (option.least < -1) return "";
  return (option.above ? " above " : " of at least ") + to_text(option.least);
}

std::int64_t integer(const Option& option, const std::string& word) {
  const std::string wanted = "a whole number" + range_text(option);
  const auto number = parse<std::int64_t>(option, word, wanted);
  if (static_cast<double>(number) < option.least) refuse(option, word, wanted);
  return number;
}

double real(const Option& option, const std::string& word) {
  const std::string wanted = "a finite number" + range_text(option);
  const auto number = parse<double>(option, word, wanted);
  if (!std::isfinite(number) || number < option.least || (option.above && number == option.least))
    refuse(option, word, wanted);
  return number;
}

std::string text(const Option& option, const std::string& word) {
  if (option.choices.empty()) {
    if (word.empty()) refuse(option, word, "something that is not empty");
    return word;
  }
  std::string all;
  for (const std::string_view choice : option.choices) {
    if (word == choice) return word;
    all += (all.empty() ? "" : ", ") + std::string(choice);
  }
  refuse(option, word, "one of " + all);
}

/// The values of a list: split at commas, unless each word is a value.
std::vector<std::string> split(const Option& option, std::span<const std::string> words) {
  std::vector<std::string> out;
  for (const std::string& word : words) {
    if (option.arity == Arity::repeated) {
      out.push_back(word);
      continue;
    }
    for (std::size_t begin = 0;;) {
      const std::size_t comma = word.find(',', begin);
      out.push_back(word.substr(begin, comma == std::string::npos ? comma : comma - begin));
      if (comma == std::string::npos) break;
      begin = comma + 1;
    }
  }
  return out;
}

struct Setter {
  Config& config;
  const Option& option;
  std::span<const std::string> words;

  void operator()(bool Config::*member) const { config.*member = true; }
  void operator()(std::int64_t Config::*member) const { config.*member = integer(option, words.front()); }
  void operator()(double Config::*member) const { config.*member = real(option, words.front()); }
  void operator()(std::string Config::*member) const { config.*member = text(option, words.front()); }
  void operator()(std::vector<std::int64_t> Config::*member) const {
    (config.*member).clear();
    for (const std::string& item : split(option, words)) (config.*member).push_back(integer(option, item));
  }
  void operator()(std::vector<std::string> Config::*member) const {
    (config.*member).clear();
    for (const std::string& item : split(option, words)) (config.*member).push_back(text(option, item));
  }
};

template <class T>
std::string to_text(const std::vector<T>& items) {
  std::string out;
  for (const T& item : items) {
    if (!out.empty()) out += ',';
    if constexpr (std::is_same_v<T, std::string>)
      out += item;
    else
      out += std::to_string(item);
  }
  return out;
}

/// The words behind the option that give its value again; one a repetition.
struct Words {
  const Config& config;
  const Option& option;

  std::vector<std::string> operator()(bool Config::*) const { return {}; }
  std::vector<std::string> operator()(std::int64_t Config::*member) const {
    return {std::to_string(config.*member)};
  }
  std::vector<std::string> operator()(double Config::*member) const {
    return {drift::to_text(config.*member)};
  }
  std::vector<std::string> operator()(std::string Config::*member) const { return {config.*member}; }
  std::vector<std::string> operator()(std::vector<std::int64_t> Config::*member) const {
    return {to_text(config.*member)};
  }
  std::vector<std::string> operator()(std::vector<std::string> Config::*member) const {
    return option.arity == Arity::repeated ? config.*member
                                           : std::vector<std::string>{to_text(config.*member)};
  }
};

bool is_given(const Config& config, const Option& option) {
  const auto* member = std::get_if<double Config::*>(&option.member);
  return member == nullptr || config.*(*member) >= 0;  // --atol and --rtol are negative until they are given
}

}  // namespace

std::string to_text(double value) {
  char buffer[32];
  const auto [end, error] = std::to_chars(std::begin(buffer), std::end(buffer), value);
  return std::string(buffer, end);
}

void set_option(Config& config, const Option& option, std::span<const std::string> words) {
  require(option.arity == Arity::flag || !words.empty(), Fault::usage, dashed(option) + " needs a value");
  std::visit(Setter{config, option, words}, option.member);
  config.typed.insert(std::string(option.name));
}

void check_options(const Config& config) {
  const auto ranks =
      checked_mul(static_cast<std::uint64_t>(config.tp), static_cast<std::uint64_t>(config.cp));
  require(ranks && *ranks <= most_ranks, Fault::usage,
          "--tp " + std::to_string(config.tp) + " x --cp " + std::to_string(config.cp) + " is more than " +
              std::to_string(most_ranks) + " ranks, the most this tool counts");
  const bool limits = config.atol >= 0 || config.rtol >= 0;
  require(!limits || config.tolerance == "derived", Fault::usage,
          "--tolerance " + config.tolerance +
              " and --atol/--rtol both say what a row may differ by; wanted one of them");
  require(config.top_p <= 1, Fault::usage,
          "--top-p cannot be " + to_text(config.top_p) + "; wanted a number above 0 and at most 1");
  require(config.min_p < 1, Fault::usage,
          "--min-p cannot be " + to_text(config.min_p) + "; wanted a number from 0 to below 1");
  for (const std::string& table : config.strata)
    require(
        table == "all" || std::find(strata_names.begin(), strata_names.end(), table) != strata_names.end(),
        Fault::usage,
        "--strata knows no table '" + escaped(table) +
            "'; wanted any of logp, position, mask_edge, sequence_edge, "
            "segment, owner_tp_rank, cp_chunk, or all");
  for (const std::string& gate : config.gate) parse_gate(gate);  // a typing error should not cost a run
}

NamedValues option_values(const Config& config) {
  NamedValues out;
  for (const Option& option : run_options())
    if (option.in_case && is_given(config, option))
      std::visit([&](auto member) { out.emplace_back(key_of(option.name), Value(config.*member)); },
                 option.member);
  return out;
}

NamedValues case_values(const Config& config) {
  NamedValues out = option_values(config);
  out.insert(out.begin(), {"dump", Value(config.dump)});
  return out;
}

std::vector<std::string> to_arguments(const Config& config, Which which) {
  std::vector<std::string> out{"run", config.dump};
  for (const Option& option : run_options()) {
    const std::string name(option.name);
    if (!config.typed.contains(name) || name == "dry-run" || (which == Which::in_case && !option.in_case))
      continue;
    if (option.arity == Arity::flag) {
      out.push_back(dashed(option));
      continue;
    }
    for (const std::string& word : std::visit(Words{config, option}, option.member)) {
      out.push_back(dashed(option));
      out.push_back(word);
    }
  }
  return out;
}

}  // namespace drift
