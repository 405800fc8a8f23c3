#pragma once

// The option table on a CLI11 command.

#include <CLI/CLI.hpp>
#include <functional>

#include "audit/options.hpp"

namespace drift {

/// Adds those options of `run` that `wanted` picks. `config` must outlive the parse.
void add_run_options(CLI::App& command, Config& config, const std::function<bool(const Option&)>& wanted);

/// Adds the positional DUMP.
void add_dump(CLI::App& command, Config& config);

}  // namespace drift
