#pragma once

// The pieces of `compare`. Private to lib/report.

#include <string>
#include <vector>

#include "report/number.hpp"

namespace drift {

/// An aggregate report as read back.
struct StoredReport {
  std::string path;    ///< of aggregate.json
  std::string folder;  ///< that it lies in
  Json json;
};

/// Every value that the functions below read is there and of the right type. Throws Fault::io or
/// Fault::input.
StoredReport read_report(const std::string& aggregate_path);

/// What one part of a comparison has to say.
struct Findings {
  std::vector<std::string> lines;
  std::vector<std::string> worse, better;  ///< reasons for the verdict

  void say(const std::string& heading,
           const std::vector<std::string>& texts);  ///< the heading once, then indented
  void add(const Findings& more);
};

/// The value at the end of `keys`; nullptr if there is none.
const Json* value_at(const Json& json, std::initializer_list<const char*> keys);
/// One value as compact JSON; "none" for nullptr.
std::string shown(const Json* value);
/// A number so that it reads back; "nan", "inf", "-inf".
std::string shown(double value);

/// Whether the run of `report` was asked to compute that formula, by its id or by "all".
bool asks_for(const Json& report, const std::string& formula);

Findings compare_status(const Json& before, const Json& after);
/// Configuration and environment: what was asked for, and what it ran on.
Findings compare_settings(const Json& before, const Json& after);
/// Whether both audited the same bits; if not, sizes of drift say nothing about each other.
Findings compare_inputs(const Json& before, const Json& after, bool& same_inputs);
/// Digests and sizes of everything that was compared.
Findings compare_values(const Json& before, const Json& after, bool same_inputs);
Findings compare_gates(const Json& before, const Json& after);
/// From tokens.safetensors of both.
Findings compare_tokens(const StoredReport& before, const StoredReport& after);

}  // namespace drift
