#pragma once

// One call of a plug-in's kernel: its view of the chunk, its TP group, its outputs, and what went wrong in
// it.

#include "plugin/library.hpp"

namespace drift {

/// Runs the kernel over one chunk. `out`: backend memory, [in.logits.rows] each; log-probs of rows without a
/// target become NaN (0x7fc00000), as do values that the kernel does not write. Throws what load_plugin
/// (plugin/plugin.hpp) lists.
void call_kernel(const PluginLibrary& plugin, const FormulaInput& in, RowResult out);

}  // namespace drift
