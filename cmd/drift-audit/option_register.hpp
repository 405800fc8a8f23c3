#pragma once

// The option table on a CLI11 command.

#include <CLI/CLI.hpp>
#include <functional>

#include "audit/options.hpp"

namespace drift {

/// Adds those options of `run` that `wanted` picks. `reword` may change what --help says of one: a command
/// with defaults of its own does. `config` must outlive the parse.
void add_run_options(
    CLI::App& command, Config& config, const std::function<bool(const Option&)>& wanted,
    const std::function<void(Option&)>& reword = [](Option&) {});

/// Adds the positional DUMP.
void add_dump(CLI::App& command, Config& config);

}  // namespace drift
