#pragma once

// Where lines go: results to stdout, everything else to stderr; whole lines, no colour, no bar.

#include <string>
#include <vector>

namespace drift {

class Console {
 public:
  /// A console that does not speak swallows everything: ranks other than 0.
  explicit Console(bool speaks);

  void say(const std::string& line) const;                ///< stdout
  void say(const std::vector<std::string>& lines) const;  ///< stdout
  void print(const std::string& text) const;              ///< stdout, as it is
  void warn(const std::string& message) const;            ///< stderr
  void error(const std::string& message) const;           ///< stderr
  void progress(const std::string& message) const;        ///< stderr
  /// False if stdout took less than it was given (a full disk, a closed pipe).
  bool flush() const;
  /// For output that is in a file too: the same as a warning, once. flush() is true from here on.
  void flush_table();

  void set_verbose(bool verbose);
  void set_speaks(bool speaks) { speaks_ = speaks; }

 private:
  bool speaks_;
  bool given_up_ = false;  ///< on stdout
};

}  // namespace drift
