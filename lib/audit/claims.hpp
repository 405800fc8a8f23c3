#pragma once

// The names that --require takes: a formula's claims (formulas/formula.hpp), and one that holds for every
// formula.

#include <algorithm>
#include <array>
#include <string_view>

#include "formulas/formula.hpp"

namespace drift {

/// `replicated`: all ranks of a TP group hold the same bits. Every run checks it.
inline constexpr std::array<std::string_view, 7> claim_names{"tp",       "bounds",  "padded-width", "rows",
                                                             "chunking", "backend", "replicated"};

inline bool holds(const Claims& claims, std::string_view name) {
  const auto held = names_of(claims);
  return name == "replicated" || std::find(held.begin(), held.end(), name) != held.end();
}

}  // namespace drift
