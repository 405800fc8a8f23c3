#pragma once

// --plugin: a kernel of the user's, behind the C interface of drift_plugin.h, as a formula like any other.

#include <memory>
#include <string>

#include "formulas/formula.hpp"

namespace drift {

/// The formula of this shared object. Its id is the name that the plug-in gives itself; its texts live as
/// long as it does. Errors of loading: open_plugin (plugin/library.hpp). Its `run` throws
///   Fault::device   the kernel returned an error, threw, crashed, or wrote outside its outputs; its scratch
///                   memory ran out
///   Fault::comm     the ranks of its TP group do not call the same collectives
///   Fault::timeout  it has neither returned nor called back for `deadline_seconds` (> 0). In host memory its
///                   call is left, as after a crash. On a GPU nothing can be left: the process ends with
///                   status 7 after a line on stderr
///   Fault::usage    a temperature it does not know, which only the rows themselves tell
///   what it was     a failure inside its collectives, as from any other formula
/// Messages begin with "plug-in NAME"; `Interrupted` passes as it is. Failures of the kernel itself name its
/// rows.
std::shared_ptr<const Formula> load_plugin(const std::string& path, double deadline_seconds = 600);

/// xxh3-128 of the file, 32 hex digits: ranks must have loaded the same code, and a report says which. Throws
/// Fault::io.
std::string plugin_digest(const std::string& path);

}  // namespace drift
