#pragma once

// A world of one: what a run without a launcher uses, so that nothing else asks whether there is MPI.

#include <memory>

#include "comm/control.hpp"

namespace drift {

/// Rank 0 of 1. No call ever waits; after `alarm`, data calls throw `Interrupted` as in any other world.
std::unique_ptr<Control> make_solo_control();

}  // namespace drift
