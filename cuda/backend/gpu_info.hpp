#pragma once

#include "backend/devices.hpp"

namespace drift {

/// What the driver says about GPU `index`. Throws Fault::device.
GpuInfo gpu_info(int index);

}  // namespace drift
