#pragma once

// The only door from floats to JSON: nlohmann writes NaN and infinity as null, which no reader can tell from
// "absent". Private to lib/report.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace drift {

using Json = nlohmann::ordered_json;  ///< keys stay in the order they were added

/// A number that reads back to the same double; "nan", "inf" or "-inf" otherwise.
Json number(double value);
/// "0x" and 8 hex digits.
std::string bits_text(float value);
/// What `number` wrote; nothing for any other JSON value.
std::optional<double> number_of(const Json& json);
/// `json` as a document: 2-space indent and a newline at the end; bytes that are not UTF-8 become U+FFFD.
std::string document(const Json& json);

}  // namespace drift
