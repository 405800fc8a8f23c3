#pragma once

// The JSON Schemas of schemas/, built into the program (scripts/cmake/schemas.cmake makes the definition).

#include <string>
#include <vector>

namespace drift {

struct Schema {
  std::string name;  ///< "aggregate", "explain", "rank", "run"
  std::string text;  ///< of schemas/<name>.schema.json
};

/// Sorted by name.
const std::vector<Schema>& schemas();

}  // namespace drift
