#pragma once

// What may end a process, run in a child of the test: how it ended, and what it said.

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <string>

#include "support/catch.hpp"
#include "support/run_command.hpp"

namespace drift::test {

constexpr int ran_to_its_end = 99, threw_an_error = 98;  // exit statuses of a child

struct Child {
  int status = 0;  ///< as from waitpid
  std::string err;
};

inline Child in_child(const std::function<void()>& body) {
  const TemporaryFolder folder;
  const std::string said = folder.path("err");
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    const int file = ::open(said.c_str(), O_CREAT | O_WRONLY, 0600);
    ::dup2(file, STDOUT_FILENO);
    ::dup2(file, STDERR_FILENO);
    for (const int signal : {SIGABRT, SIGSEGV}) std::signal(signal, SIG_DFL);  // the test framework's own
    try {
      body();
    } catch (...) {
      ::_exit(threw_an_error);
    }
    ::_exit(ran_to_its_end);
  }
  Child out;
  REQUIRE(::waitpid(child, &out.status, 0) == child);
  out.err = file_text(said);
  return out;
}

}  // namespace drift::test
