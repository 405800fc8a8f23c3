#pragma once

// Options as JSON. Private to lib/report.

#include "base/value.hpp"
#include "report/number.hpp"

namespace drift {

Json value_json(const Value& value);
/// An object with the keys in the order of `values`.
Json values_json(const NamedValues& values);
/// Compact, keys sorted: the text that ids and fingerprints are digests of.
std::string canonical_text(const NamedValues& values);

}  // namespace drift
