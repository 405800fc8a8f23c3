#pragma once

// Runs a program as a user would, and keeps all that it said: for tests through the binary.

#include <string>
#include <vector>

namespace drift::test {

struct Ran {
  std::string command;  ///< for messages
  int exit_code = -1;   ///< 128 + signal if one killed it
  bool timed_out = false;
  std::string out, err;

  /// Everything, for INFO.
  std::string all() const;
};

struct How {
  std::vector<std::string> environment = {};  ///< "K=V", added to this process's; "K" alone removes
  std::string directory = {};                 ///< working directory; "": this process's
  int timeout_seconds = 120;
};

/// `words[0]` is looked up in PATH. On a timeout the whole process group is killed.
Ran run_command(const std::vector<std::string>& words, const How& how = {});

/// The same under `mpirun -np ranks`, which is told that it may run as root and start more ranks than there
/// are cores.
Ran run_on_ranks(int ranks, const std::vector<std::string>& words, How how = {});
bool has_mpirun();

/// A folder of its own that goes when the test ends.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string path(const std::string& name = "") const { return name.empty() ? path_ : path_ + "/" + name; }

 private:
  std::string path_;
};

std::string file_text(const std::string& path);
std::vector<std::string> lines_of(const std::string& text);

}  // namespace drift::test
