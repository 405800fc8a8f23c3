#include "audit/options.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.hpp"
#include "support/catch.hpp"

namespace drift {
namespace {

Config with(std::initializer_list<std::pair<std::string, std::vector<std::string>>> typed) {
  Config config;
  config.dump = "d.safetensors";
  for (const auto& [name, words] : typed) set_option(config, *find_option(name), words);
  return config;
}

std::string refusal(const std::string& name, const std::string& word) {
  try {
    with({{name, {word}}});
  } catch (const Error& error) {
    REQUIRE(error.fault() == Fault::usage);
    return error.what();
  }
  return "";
}

/// An accepted word for every option: enough to fill each field with something that is not its default.
std::vector<std::string> words_for(const Option& option) {
  if (option.arity == Arity::flag) return {};
  if (!option.choices.empty()) return {std::string(option.choices.back())};
  if (option.name == "vocab-bounds") return {"0,10,20"};
  if (option.name == "gate") return {"a.b <= 1e-3", "c[\"x,y\"] == 0"};
  if (option.arity == Arity::list) return {"tp,rows"};
  if (std::holds_alternative<double Config::*>(option.member)) return {"0.7"};
  if (std::holds_alternative<std::int64_t Config::*>(option.member)) return {"7"};
  return {"some name"};
}

Config everything() {
  Config config;
  config.dump = "d.safetensors";
  for (const Option& option : run_options()) set_option(config, option, words_for(option));
  return config;
}

Config parsed_back(const std::vector<std::string>& arguments) {
  Config config;
  config.dump = arguments.at(1);
  std::map<std::string, std::vector<std::string>> words;
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    const std::string name = arguments[i].substr(2);
    auto& list = words[name];
    if (find_option(name)->arity != Arity::flag) list.push_back(arguments.at(++i));
  }
  for (const auto& [name, list] : words) set_option(config, *find_option(name), list);
  return config;
}

}  // namespace

TEST_CASE("options: every option of the contract is in the table, once") {
  const std::set<std::string_view> wanted{"tp",
                                          "cp",
                                          "cp-layout",
                                          "vocab-bounds",
                                          "formula",
                                          "plugin",
                                          "backend",
                                          "transport",
                                          "candidate-dtype",
                                          "temperature",
                                          "temperature-order",
                                          "real-vocab",
                                          "padding",
                                          "top-k",
                                          "top-p",
                                          "min-p",
                                          "logits",
                                          "targets",
                                          "mask",
                                          "recorded",
                                          "pair",
                                          "targets-are",
                                          "ignore-index",
                                          "rows-per-chunk",
                                          "worst",
                                          "row-stats",
                                          "metric-names",
                                          "strata",
                                          "tolerance",
                                          "atol",
                                          "rtol",
                                          "gate",
                                          "require",
                                          "certify",
                                          "out",
                                          "force",
                                          "collective-timeout",
                                          "quiet",
                                          "verbose",
                                          "dry-run"};
  std::set<std::string_view> seen;
  for (const Option& option : run_options()) {
    INFO(option.name);
    CHECK(seen.insert(option.name).second);
    CHECK_FALSE(option.help.empty());
    CHECK_FALSE(option.group.empty());
  }
  CHECK(seen == wanted);
  CHECK(find_option("no-such") == nullptr);
}

TEST_CASE("options: a typed value reaches its field and is remembered as typed") {
  const Config config = with({{"tp", {"2"}},
                              {"vocab-bounds", {"0,5,9"}},
                              {"formula", {"a,b"}},
                              {"temperature", {"0.7"}},
                              {"ignore-index", {"-100"}},
                              {"gate", {"x == 1,5", "y < 2"}},
                              {"force", {}}});
  CHECK(config.tp == 2);
  CHECK(config.vocab_bounds == std::vector<std::int64_t>{0, 5, 9});
  CHECK(config.formula == std::vector<std::string>{"a", "b"});
  CHECK(config.temperature == 0.7);
  CHECK(config.ignore_index == -100);
  CHECK(config.gate == std::vector<std::string>{"x == 1,5", "y < 2"});  // expressions keep their commas
  CHECK(config.force);
  CHECK(config.typed == std::set<std::string>{"tp", "vocab-bounds", "formula", "temperature", "ignore-index",
                                              "gate", "force"});
}

TEST_CASE("options: a list given twice is one list") {
  CHECK(with({{"formula", {"a,b", "c"}}}).formula == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("options: a bad value is refused with the value and what is wanted") {
  CHECK(refusal("tp", "0") == "--tp cannot be '0'; wanted a whole number of at least 1");
  CHECK(refusal("tp", "2x") == "--tp cannot be '2x'; wanted a whole number of at least 1");
  CHECK(refusal("tp", "99999999999999999999") != "");
  CHECK(refusal("cp-layout", "spiral") == "--cp-layout cannot be 'spiral'; wanted one of contiguous, zigzag");
  CHECK(refusal("worst", "-1") != "");
  CHECK(refusal("rows-per-chunk", "0") != "");
  CHECK(refusal("collective-timeout", "0") != "");
  CHECK(refusal("atol", "-1") != "");
  CHECK(refusal("atol", "nan") != "");
  CHECK(refusal("rtol", "inf") != "");
  CHECK(refusal("vocab-bounds", "0,,5") != "");
  CHECK(refusal("formula", "a,") != "");
  CHECK(refusal("logits", "") != "");
  CHECK(refusal("gate", "") != "");
}

TEST_CASE("options: a temperature that is not a positive finite number is refused") {
  for (const char* word : {"0", "-0.0", "-1", "nan", "inf", "-inf", "", "1,0", "0x1"}) {
    INFO(word);
    CHECK(refusal("temperature", word) ==
          std::string("--temperature cannot be '") + word + "'; wanted a finite number above 0");
  }
}

TEST_CASE("options: an unbelievable number of ranks and two tolerances at once are refused") {
  CHECK_THROWS_AS(check_options(with({{"tp", {"4611686018427387904"}}, {"cp", {"4"}}})), Error);
  CHECK_THROWS_AS(check_options(with({{"tp", {"1048576"}}, {"cp", {"2"}}})), Error);
  CHECK_NOTHROW(check_options(with({{"tp", {"1048576"}}})));
  CHECK_THROWS_AS(check_options(with({{"tolerance", {"rl-kernel-ws1"}}, {"rtol", {"0"}}})), Error);
  CHECK_NOTHROW(check_options(with({{"atol", {"0"}}, {"rtol", {"0"}}})));
}

TEST_CASE("options: the case starts with the dump and holds what can change a number, in the table's order") {
  const NamedValues values = case_values(with({{"tp", {"2"}}}));
  REQUIRE(values.size() > 3);
  CHECK(values[0] == std::pair<std::string, Value>("dump", std::string("d.safetensors")));
  CHECK(values[1] == std::pair<std::string, Value>("tp", std::int64_t{2}));
  CHECK(values[3].first == "cp_layout");
  std::set<std::string> keys;
  for (const auto& [key, value] : values) keys.insert(key);
  for (const char* absent :
       {"out", "force", "collective_timeout", "quiet", "verbose", "dry_run", "atol", "rtol"})
    CHECK(keys.count(absent) == 0);
  CHECK(keys.count("rows_per_chunk") == 1);

  const NamedValues limited = option_values(with({{"atol", {"0"}}}));
  CHECK(std::count(limited.begin(), limited.end(), std::pair<std::string, Value>("atol", 0.0)) == 1);
}

TEST_CASE("options: what was typed reads back as the same config") {
  const Config config = everything();
  Config all = parsed_back(to_arguments(config, Which::all));
  CHECK(case_values(all) == case_values(config));
  CHECK(all.out == config.out);
  CHECK(all.force);
  CHECK(all.quiet);
  CHECK(all.collective_timeout == config.collective_timeout);
  CHECK_FALSE(all.dry_run);

  const Config reproduced = parsed_back(to_arguments(config));
  CHECK(case_values(reproduced) == case_values(config));
  CHECK(reproduced.out.empty());
  CHECK_FALSE(reproduced.force);
  CHECK(reproduced.collective_timeout == Config{}.collective_timeout);
}

TEST_CASE("options: nothing typed gives an empty command line and the built-in defaults") {
  Config config;
  config.dump = "x";
  CHECK(to_arguments(config, Which::all) == std::vector<std::string>{"run", "x"});
}

TEST_CASE("options: numbers are written so that they read back as the same bits") {
  for (const double value : {0.7, 0.1 + 0.2, 1e-300, 5e-324, 1.0, 123456789012345678.0}) {
    const Config config = with({{"temperature", {to_text(value)}}});
    CHECK(config.temperature == value);
  }
  CHECK(to_text(0.7) == "0.7");
  CHECK(to_text(1.0) == "1");
}

}  // namespace drift
