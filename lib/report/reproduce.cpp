#include "report/reproduce.hpp"

namespace drift {

std::string shell_quoted(std::string_view word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos) return std::string(word);
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'')
      out += "'\\''";  // close, an escaped quote, open again: inside quotes sh knows no escape
    else
      out += c;
  }
  return out + "'";
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += ' ';
    out += shell_quoted(word);
  }
  return out;
}

std::string reproduce(int world, const std::string& program, const std::vector<std::string>& arguments,
                      const Environment& environment, const std::vector<std::string>& launcher_flags) {
  std::vector<std::string> words{"mpirun", "-np", std::to_string(world)};
  words.insert(words.end(), launcher_flags.begin(), launcher_flags.end());
  for (const auto& [name, value] : environment.variables)
    words.insert(words.end(), {"-x", name + "=" + value});
  words.push_back(program);
  words.insert(words.end(), arguments.begin(), arguments.end());
  return shell_line(words);
}

}  // namespace drift
