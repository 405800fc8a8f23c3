#include "drift-audit/option_register.hpp"

namespace drift {
namespace {

std::string description(const Option& option) {
  std::string out(option.help);
  if (!option.choices.empty()) {
    std::string choices;
    for (const std::string_view choice : option.choices)
      choices += (choices.empty() ? "" : ", ") + std::string(choice);
    out += " {" + choices + "}";
  }
  if (!option.default_text.empty()) out += " [" + std::string(option.default_text) + "]";
  return out;
}

}  // namespace

void add_dump(CLI::App& command, Config& config) {
  command
      .add_option("DUMP", config.dump, "safetensors file with logits, targets and what your system recorded")
      ->required()
      ->type_name("");
}

void add_run_options(CLI::App& command, Config& config, const std::function<bool(const Option&)>& wanted,
                     const std::function<void(Option&)>& reword) {
  for (const Option& option : run_options()) {
    if (!wanted(option)) continue;
    std::string names = "--" + std::string(option.name);
    if (!option.letter.empty()) names = "-" + std::string(option.letter) + "," + names;
    Option shown = option;
    reword(shown);
    CLI::Option* added = nullptr;
    if (option.arity == Arity::flag) {
      added = command.add_flag_callback(
          names, [&config, &option] { set_option(config, option, {}); }, description(shown));
    } else {
      const CLI::callback_t set = [&config, &option](const CLI::results_t& words) {
        set_option(config, option, words);
        return true;
      };
      added = command.add_option(names, set, description(shown))->type_name(std::string(option.value));
      added->multi_option_policy(option.arity == Arity::one ? CLI::MultiOptionPolicy::Throw
                                                            : CLI::MultiOptionPolicy::TakeAll);
    }
    added->group(std::string(option.group));
  }
}

}  // namespace drift
