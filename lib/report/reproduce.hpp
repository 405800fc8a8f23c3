#pragma once

// The command that runs the same audit again, as one line for a POSIX shell.

#include <string>
#include <string_view>
#include <vector>

#include "report/report.hpp"

namespace drift {

/// `word` so that sh reads it back as one word, unchanged.
std::string shell_quoted(std::string_view word);
/// Words, each quoted where it needs to be, with one space between.
std::string shell_line(const std::vector<std::string>& words);

/// "mpirun -np WORLD FLAGS -x K=V ... PROGRAM ARGUMENTS": `launcher_flags` are those that mpirun needs where
/// this ran, `arguments` start with the command ("run"), the variables are the environment's recorded ones.
std::string reproduce(int world, const std::string& program, const std::vector<std::string>& arguments,
                      const Environment& environment, const std::vector<std::string>& launcher_flags = {});

}  // namespace drift
