#pragma once

// One function a command. Each returns the exit status, or throws Error with it.

#include "drift-audit/command_line.hpp"
#include "drift-audit/console.hpp"
#include "drift-audit/process.hpp"

namespace drift {

int run(const RunRequest& request, const Process& process, Console& console);
int explain(const ExplainRequest& request, const Process& process, Console& console);
int plan(const PlanRequest& request, const Process& process, const Console& console);
int compare(const CompareRequest& request, const Console& console);
int inspect(const InspectRequest& request, const Console& console);
int generate(const GenerateCommand& request, const Console& console);
int list_formulas(const Console& console);
int list_metrics(const Console& console);
int print_schema(const SchemaRequest& request, const Console& console);

/// Parse, dispatch, report errors: everything but `main`. Throws nothing.
int run_program(const Process& process) noexcept;

}  // namespace drift
