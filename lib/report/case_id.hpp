#pragma once

// Names that follow from what is audited alone: the same options give the same id on every machine and day.

#include <string>

#include "base/value.hpp"

namespace drift {

/// First 16 hex digits of the xxh3-128 of the compact JSON, keys sorted, of the options as typed on the
/// built-in defaults plus DUMP as typed (key "dump"): known before the dump is opened.
std::string case_id(const NamedValues& typed_on_defaults, const std::string& dump);

/// All 32 hex digits of the same digest, over what every rank must agree on before data moves.
std::string fingerprint(const NamedValues& agreed);

}  // namespace drift
