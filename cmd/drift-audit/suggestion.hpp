#pragma once

#include <string>
#include <vector>

namespace drift {

/// The word of `known` that `typed` was probably meant to be: at most two letters away; "" if none is.
std::string nearest_word(const std::string& typed, const std::vector<std::string>& known);

}  // namespace drift
