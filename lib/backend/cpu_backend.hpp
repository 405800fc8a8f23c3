#pragma once

#include <memory>

#include "backend/backend.hpp"

namespace drift {

/// The host's memory and lib/kernels, on the calling thread.
std::unique_ptr<Backend> make_cpu_backend();

}  // namespace drift
