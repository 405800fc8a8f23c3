#pragma once

// `drift-audit compare OLD NEW`: what changed between two audits, and which token first.

#include <string>

namespace drift {

struct CompareResult {
  std::string text;   ///< for stdout, whole lines
  int exit_code = 0;  ///< 0: same or better, 1: worse
};

/// Each path is an aggregate.json, a report folder, or a folder of report folders (matched by name). Reads
/// tokens.safetensors beside each report where it is. The rule of the verdict stands in the text.
/// Throws Fault::io for what is missing or unreadable, Fault::input for what is no report, Fault::usage for a
/// report against a folder of reports.
CompareResult compare_reports(const std::string& old_path, const std::string& new_path);

}  // namespace drift
