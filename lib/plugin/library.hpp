#pragma once

// A plug-in's file: opened, asked what it is, and everything it says checked.

#include <cstdint>
#include <string>

#include "formulas/formula.hpp"
#include "plugin/crash_guard.hpp"
#include "plugin/drift_plugin.h"

namespace drift {

/// What drift_plugin_describe said, checked and copied.
struct PluginFacts {
  std::string name, summary;
  Claims claims;
  std::uint32_t memories = 0, dtypes = 0, rounds_to = 0, temperature_orders = 0;  ///< bits of drift_plugin.h
  bool wants_whole_rows = false;
  Dtype output = Dtype::F32;
  double lse_bound = 0, logp_bound = 0;  ///< 0: the default
};

struct PluginLibrary {
  PluginFacts facts;
  double deadline_seconds = 0;  ///< for each call of its functions
  FloatModes modes;             ///< as loading it left them on the loading thread
  decltype(&drift_plugin_log_prob) log_prob = nullptr;
};

/// Opens `path` (as typed; without a '/' it is a file of the working folder) and asks it. The library stays
/// loaded until the process ends: threads, GPU code and exit handlers of its own may point into it.
///
/// Throws Fault::io if the file is missing or cannot be read; Fault::usage if it is no regular file, no
/// shared object for this machine, lacks a function or a library, is made for another ABI, or describes
/// itself in a way that makes no sense; Fault::device if it crashes or throws meanwhile; Fault::timeout if
/// one of its functions takes longer than `deadline_seconds`.
PluginLibrary open_plugin(const std::string& path, double deadline_seconds);

/// The bit of drift_plugin.h; 0 if there is none.
std::uint32_t plugin_bit(Dtype dtype);
std::uint32_t plugin_bit(TemperatureOrder order);
/// "BF16, F32" of dtype bits.
std::string dtype_names(std::uint32_t bits);

}  // namespace drift
