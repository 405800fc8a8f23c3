#include "drift-audit/command_line.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

#include "audit/options.hpp"
#include "base/build_info.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"
#include "drift-audit/option_register.hpp"
#include "drift-audit/suggestion.hpp"

namespace drift {
namespace {

std::string version_text() {
  const BuildInfo& build = build_info();
  return "drift-audit " + std::string(build.version) + " (" + std::string(build.revision) + ", " +
         std::string(build.compiler) + ", CUDA " + std::string(build.cuda) + ")";
}

/// "--tp 1,2,4" of plan.
std::vector<std::int64_t> degrees(const std::string& option, const std::vector<std::string>& words) {
  const Option& checks = *find_option(option);
  std::vector<std::int64_t> out;
  for (const std::string& word : words) {
    std::stringstream items(word + ",");
    for (std::string item; std::getline(items, item, ',');) {
      Config one;
      set_option(one, checks, std::vector{item});
      out.push_back(one.*std::get<std::int64_t Config::*>(checks.member));
    }
  }
  return out;
}

std::uint64_t seed_of(const std::string& word) {
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
  require(error == std::errc{} && end == word.data() + word.size(), Fault::usage,
          "--seed cannot be '" + escaped(word) + "'; wanted a whole number of at least 0");
  return out;
}

std::int64_t size_of(const std::string& option, const std::string& word) {
  Config one;
  Option checks{.name = option, .member = &Config::worst, .least = 1};
  set_option(one, checks, std::vector{word});
  return one.worst;
}

Dtype dtype_of(const std::string& word) {
  std::string upper = word;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? c - 32 : c; });
  const auto dtype = dtype_named(upper);
  require(dtype && is_logits_dtype(*dtype), Fault::usage,
          "--dtype cannot be '" + escaped(word) + "'; wanted one of bf16, f16, f32, f64");
  return *dtype;
}

Profile profile_of(const std::string& word) {
  const auto profile = profile_named(word);
  require(profile.has_value(), Fault::usage,
          "--profile cannot be '" + escaped(word) + "'; wanted one of flat, sharp, exact, masked, fencepost");
  return *profile;
}

/// Everything CLI11 fills, and the commands by name.
class Parser {
 public:
  Parser() : app_("Are these log-probs right, and if not, where, by how much and why?", "drift-audit") {
    app_.set_version_flag("--version", version_text());
    app_.require_subcommand(1);
    app_.get_formatter()->column_width(34);
    add_run();
    add_explain();
    add_plan();
    add_compare();
    add_inspect();
    add_generate();
    add("formulas", "list the formulas: id, who uses it, claims, what it accepts",
        [] { return FormulasRequest{}; });
    add("metrics",
        "list the numbers that a pair of log-probs is compared in: formula, and frameworks' names for it",
        [] { return MetricsRequest{}; });
    auto* schema = add("schema", "print a JSON Schema that is built in", [this] { return schema_; });
    schema->add_option("NAME", schema_.name, "aggregate, rank, run, ...")->required()->type_name("");
  }

  Request parse(std::vector<std::string> words) {
    check_command(words);
    check_values(words);
    std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
    try {
      app_.parse(std::move(words));
    } catch (const CLI::Success& help) {
      std::ostringstream out, errors;
      app_.exit(help, out, errors);
      return TextRequest{out.str()};
    } catch (const CLI::ExtrasError& error) {
      throw Error(Fault::usage, error.what() + suggestion(error.what()));
    } catch (const CLI::ParseError& error) {
      throw Error(Fault::usage, std::string(error.what()) + see_help());
    }
    const CLI::App* chosen = app_.get_subcommands().front();
    check_names(*chosen);
    if (chosen->get_name() == "run") check_options(run_.config);
    if (chosen->get_name() == "explain") check_options(explain_.config);
    if (chosen->get_name() == "plan") check_options(plan_.config);
    return requests_.at(chosen->get_name())();
  }

 private:
  template <class Make>
  CLI::App* add(const std::string& name, const std::string& help, Make make) {
    requests_[name] = [make]() -> Request { return make(); };
    return app_.add_subcommand(name, help);
  }

  void add_run() {
    auto* run =
        add("run", "audit a dump; under mpirun, one rank for each TP x CP position", [this] { return run_; });
    add_dump(*run, run_.config);
    add_run_options(*run, run_.config, [](const Option&) { return true; });
  }

  void add_explain() {
    auto* explain = add("explain",
                        "which named cause makes the drift of recorded log-probs vanish; under mpirun, ranks "
                        "share the rows",
                        [this] { return explain_; });
    add_dump(*explain, explain_.config);
    explain_.config.formula = {"all"};
    const auto wanted = [](const Option& option) {
      return (option.group == "Topology" || option.group == "Candidate" || option.group == "Values" ||
              option.group == "Names" || option.group == "Output" || option.name == "rows-per-chunk" ||
              option.name == "certify") &&
             option.name != "plugin" && option.name != "candidate-dtype" && option.name != "pair" &&
             option.name != "dry-run";
    };
    add_run_options(*explain, explain_.config, wanted, [](Option& option) {
      if (option.name == "formula") option.default_text = "all";
      if (option.name == "cp") option.default_text = "the number of ranks, 1 with --tp";
      if (option.name == "quiet") option.help = "print the sentences only";
    });
  }

  void add_plan() {
    auto* plan = add("plan", "print one mpirun line for each topology", [this] { return plan_; });
    add_dump(*plan, plan_.config);
    const auto add_degrees = [&](const std::string& name, std::vector<std::int64_t>& into) {
      const CLI::callback_t set = [name, &into](const CLI::results_t& words) {
        into = degrees(name, words);
        return true;
      };
      plan->add_option("--" + name, set, name + " degrees to go through [1]")
          ->type_name("N,...")
          ->group("Topology");
    };
    add_degrees("tp", plan_.degrees.tp);
    add_degrees("cp", plan_.degrees.cp);
    add_run_options(*plan, plan_.config, [](const Option& option) {
      return option.name != "tp" && option.name != "cp" && option.name != "vocab-bounds" &&
             option.name != "dry-run";
    });
  }

  void add_compare() {
    auto* compare = add("compare", "two reports, or folders of them: what changed, and which token first",
                        [this] { return compare_; });
    compare->add_option("OLD", compare_.old_path, "report or folder")->required()->type_name("");
    compare->add_option("NEW", compare_.new_path, "report or folder")->required()->type_name("");
  }

  void add_inspect() {
    auto* inspect = add("inspect", "tensors, vocabulary, non-finite values, what `run` would use and why",
                        [this] { return inspect_; });
    add_dump(*inspect, inspect_.config);
    add_run_options(*inspect, inspect_.config,
                    [](const Option& option) { return option.group == "Names" || option.group == "Values"; });
  }

  void add_generate() {
    auto* generate = add("generate", "write a synthetic dump whose every bit follows from integers",
                         [this] { return generate_; });
    generate->add_option("OUT", generate_.path, "file to write")->required()->type_name("");
    GenerateRequest& what = generate_.what;
    const auto option = [&](const std::string& name, const std::string& type, const std::string& help,
                            auto set) {
      const CLI::callback_t call = [set](const CLI::results_t& words) {
        set(words.front());
        return true;
      };
      generate->add_option("--" + name, call, help)->type_name(type);
    };
    generate->add_flag("--force", generate_.force, "replace the file OUT if there is one");
    option("rows", "N", "rows [16]", [&](const std::string& w) { what.rows = size_of("rows", w); });
    option("vocab", "V", "columns that count [1000]",
           [&](const std::string& w) { what.vocab = size_of("vocab", w); });
    option("padded-vocab", "V", "columns in all [1024]",
           [&](const std::string& w) { what.padded_vocab = size_of("padded-vocab", w); });
    option("dtype", "DTYPE", "of the logits {bf16, f16, f32, f64} [bf16]",
           [&](const std::string& w) { what.dtype = dtype_of(w); });
    option("seed", "N", "[7]", [&](const std::string& w) { what.seed = seed_of(w); });
    option("profile", "NAME", "{flat, sharp, exact, masked, fencepost} [flat]",
           [&](const std::string& w) { what.profile = profile_of(w); });
  }

  /// CLI11 would only say that a command is missing.
  void check_command(const std::vector<std::string>& words) const {
    std::vector<std::string> known;
    std::string all;
    for (const CLI::App* command : app_.get_subcommands({})) {
      known.push_back(command->get_name());
      all += (all.empty() ? "" : ", ") + known.back();
    }
    require(!words.empty(), Fault::usage, "no command was given; wanted one of " + all + see_help());
    const std::string& word = words.front();
    if (word == "--help" || word == "-h" || word == "--version" ||
        std::find(known.begin(), known.end(), word) != known.end())
      return;
    const std::string near = nearest_word(word, known);
    throw Error(Fault::usage, "there is no command '" + escaped(word) + "'; " +
                                  (near.empty() ? "wanted one of " + all : "did you mean " + near + "?") +
                                  see_help());
  }

  /// `--out= --force` and `--out --force`: CLI11 would take the next option for the value.
  void check_values(const std::vector<std::string>& words) const {
    const auto named =
        app_.get_subcommands([&](const CLI::App* one) { return one->get_name() == words.front(); });
    const CLI::App* command = named.empty() ? nullptr : named.front();
    const auto option = [&](const std::string& word) -> const CLI::Option* {
      return command == nullptr || !word.starts_with("-")
                 ? nullptr
                 : command->get_option_no_throw(word.substr(0, word.find('=')));
    };
    for (std::size_t i = 1; i < words.size() && words[i] != "--"; ++i) {
      require(!words[i].starts_with("--") || words[i].find('=') != words[i].size() - 1, Fault::usage,
              escaped(words[i]) + " has no value (nothing stands after the '=')" + see_help());
      const CLI::Option* seen = option(words[i]);
      if (seen == nullptr || seen->get_items_expected_max() == 0 || words[i].find('=') != std::string::npos)
        continue;
      if (++i == words.size()) return;  // CLI11 says it
      require(words[i] != "--" && option(words[i]) == nullptr, Fault::usage,
              words[i - 1] + " has no value: the next word, " + escaped(words[i]) + ", is an option (" +
                  words[i - 1] + "=" + escaped(words[i]) + " would take it)" + see_help());
    }
  }

  /// DUMP, OUT, OLD, ...: the words without dashes.
  void check_names(const CLI::App& command) const {
    for (const CLI::Option* option : command.get_options())
      for (const std::string& word : option->results())
        require(!option->get_positional() || !word.empty(), Fault::usage,
                option->get_name(true) + " cannot be empty, wanted a name" + see_help());
  }

  std::string see_help() const {
    const auto chosen = app_.get_subcommands();
    return "\nsee drift-audit " + (chosen.empty() ? "" : chosen.front()->get_name() + " ") + "--help";
  }

  /// "; did you mean --temperature?" for an unknown option, else where help is.
  std::string suggestion(const std::string& message) const {
    std::vector<std::string> known;
    for (const CLI::App* command : app_.get_subcommands())
      for (const CLI::Option* option : command->get_options())
        for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    std::istringstream words(message);
    for (std::string word; words >> word;) {
      word = word.substr(0, word.find('='));
      if (std::find(known.begin(), known.end(), word) != known.end())
        return " (after -- every word is a name, not an option)" + see_help();
      if (const std::string near = nearest_word(word, known); !near.empty())
        return "; did you mean " + near + "?" + see_help();
    }
    return see_help();
  }

  CLI::App app_;
  RunRequest run_;
  ExplainRequest explain_;
  PlanRequest plan_;
  CompareRequest compare_;
  InspectRequest inspect_;
  GenerateCommand generate_;
  SchemaRequest schema_;
  std::map<std::string, std::function<Request()>> requests_;
};

}  // namespace

Request parse_command_line(const std::vector<std::string>& arguments) { return Parser().parse(arguments); }

}  // namespace drift
