#pragma once

// An option's value on its way from the command line into reports, without naming either.

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace drift {

using Value = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<std::string>>;
/// snake_case key and value, in the options' order.
using NamedValues = std::vector<std::pair<std::string, Value>>;

}  // namespace drift
