#pragma once

// Every NCCL call's status passes through here.

#include <nccl.h>

#include <source_location>
#include <string>

#include "base/error.hpp"

namespace drift {

/// Throws Fault::comm unless `status` is success or, with a non-blocking communicator, "in progress".
inline void check(ncclResult_t status, ncclComm_t comm, const char* doing,
                  std::source_location where = std::source_location::current()) {
  if (status == ncclSuccess || status == ncclInProgress) return;
  std::string message = std::string("NCCL failed while ") + doing +
                        " (ranks no longer agree on what was exchanged), seen " + ncclGetErrorString(status);
  if (const char* detail = ncclGetLastError(comm); detail != nullptr && *detail != '\0')
    message += std::string(": ") + detail;
  if (status == ncclInvalidUsage) message += "; if ranks share a GPU, --transport mpi serves them";
  throw Error(Fault::comm, message, where);
}

}  // namespace drift
