#pragma once

// Every CUDA call's status passes through here and becomes an Error that says what was being done.

#include <cuda_runtime_api.h>

#include <source_location>
#include <string>

#include "base/error.hpp"

namespace drift {

/// Throws Fault::device unless `status` is success. `doing` completes "the GPU failed while ...".
inline void check(cudaError_t status, const char* doing,
                  std::source_location where = std::source_location::current()) {
  if (status == cudaSuccess) return;
  throw Error(Fault::device,
              std::string("the GPU failed while ") + doing +
                  " (no result of this run can be trusted), seen " + cudaGetErrorName(status) + ": " +
                  cudaGetErrorString(status),
              where);
}

}  // namespace drift
