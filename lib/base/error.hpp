#pragma once

// One exception type for the whole library, and who has to act on it.

#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

namespace drift {

/// Who has to act on a failure. The value is the process's exit status (README, "Exit status").
enum class Fault {
  usage = 2,     ///< an option, a world size or a request that cannot be honoured
  input = 3,     ///< the dump: malformed, inconsistent, or nothing to compare in it
  io = 4,        ///< reading or writing a file
  device = 5,    ///< no GPU, too few GPUs, out of memory
  comm = 6,      ///< MPI, NCCL, or replicas that differ
  timeout = 7,   ///< a deadline passed
  internal = 8,  ///< a broken invariant: the oracle's own bound, a bug
};

/// "usage", "input", ... as reports name the class.
std::string_view name(Fault fault);

/// The only exception type the library throws. `what()` is the message for the user; `where()` is for the developer.
class Error : public std::runtime_error {
 public:
  Error(Fault fault, const std::string& message, std::source_location where = std::source_location::current())
      : std::runtime_error(message), fault_(fault), where_(where) {}

  Fault fault() const noexcept { return fault_; }
  int exit_code() const noexcept { return static_cast<int>(fault_); }
  const std::source_location& where() const noexcept { return where_; }

 private:
  Fault fault_;
  std::source_location where_;
};

/// Throw unless `ok`. Message form: "what is wrong (why it matters), seen X, wanted Y".
inline void require(bool ok, Fault fault, const std::string& message,
                    std::source_location where = std::source_location::current()) {
  if (!ok) throw Error(fault, message, where);
}

}  // namespace drift
