#pragma once

// MPI returns codes; we throw. Every MPI call of the project is wrapped in `check`.

#include <mpi.h>

#include <source_location>
#include <string>

#include "base/error.hpp"

namespace drift::mpi {

/// MPI's own words for a code.
inline std::string text(int code) {
  char words[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0;
  if (MPI_Error_string(code, words, &length) != MPI_SUCCESS) return "MPI error " + std::to_string(code);
  return std::string(words, static_cast<std::size_t>(length));
}

/// Throws Fault::comm unless `code` is MPI_SUCCESS.
inline void check(int code, std::source_location where = std::source_location::current()) {
  if (code != MPI_SUCCESS)
    throw Error(Fault::comm, "MPI failed (ranks can no longer talk): " + text(code), where);
}

}  // namespace drift::mpi
