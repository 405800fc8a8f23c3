#include "support/run_command.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace drift::test {
namespace {

struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() {
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_end(int which) {
    if (ends[which] >= 0) ::close(ends[which]);
    ends[which] = -1;
  }
};

[[noreturn]] void become(const std::vector<std::string>& words, const How& how, const Pipe& out,
                         const Pipe& err) {
  ::setpgid(0, 0);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, 0);
  ::dup2(out.ends[1], 1);
  ::dup2(err.ends[1], 2);
  if (!how.directory.empty() && ::chdir(how.directory.c_str()) != 0) ::_exit(126);
  for (const std::string& entry : how.environment) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos)
      ::unsetenv(entry.c_str());
    else
      ::setenv(entry.substr(0, equals).c_str(), entry.c_str() + equals + 1, 1);
  }
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  ::_exit(127);
}

/// Reads until both ends are closed or the time is up; false if it is up.
bool collect(Pipe& out, Pipe& err, Ran& ran, int timeout_seconds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(timeout_seconds);
  std::array<pollfd, 2> watched{{{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}}};
  std::array<std::string*, 2> texts{&ran.out, &ran.err};
  std::array<char, 65536> buffer;
  for (int open = 2; open > 0;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now())
            .count();
    if (left <= 0) return false;
    ::poll(watched.data(), watched.size(), static_cast<int>(left));
    for (std::size_t i = 0; i < watched.size(); ++i) {
      if (watched[i].fd < 0 || watched[i].revents == 0) continue;
      const ssize_t got = ::read(watched[i].fd, buffer.data(), buffer.size());
      if (got > 0) {
        texts[i]->append(buffer.data(), static_cast<std::size_t>(got));
      } else {
        watched[i].fd = -1;
        --open;
      }
    }
  }
  return true;
}

}  // namespace

std::string Ran::all() const {
  return command + "\nexit " + std::to_string(exit_code) + (timed_out ? " (timed out)" : "") +
         "\n--- stdout\n" + out + "--- stderr\n" + err;
}

Ran run_command(const std::vector<std::string>& words, const How& how) {
  Ran ran;
  for (const std::string& word : words) ran.command += (ran.command.empty() ? "" : " ") + word;
  Pipe out, err;
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) become(words, how, out, err);
  out.close_end(1);
  err.close_end(1);
  ran.timed_out = !collect(out, err, ran, how.timeout_seconds);
  if (ran.timed_out) ::kill(-child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  ran.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ran;
}

Ran run_on_ranks(int ranks, const std::vector<std::string>& words, How how) {
  for (const char* entry : {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                            "OMPI_MCA_rmaps_base_oversubscribe=1"})
    how.environment.insert(how.environment.begin(), entry);
  std::vector<std::string> all{"mpirun", "-np", std::to_string(ranks)};
  all.insert(all.end(), words.begin(), words.end());
  return run_command(all, how);
}

bool has_mpirun() { return run_command({"mpirun", "--version"}).exit_code == 0; }

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "drift-audit-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

}  // namespace drift::test
