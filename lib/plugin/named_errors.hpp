#pragma once

// Errors of our own code that a plug-in made happen: the user has to read whose they are.

#include <functional>
#include <string>

namespace drift {

/// Runs `body`; an Error out of it gets `subject` and ": " in front, unless its message begins with "plug-in
/// " and so has a name already, and keeps its fault. Any other exception becomes Fault::device
/// (std::bad_alloc) or Fault::internal. `Interrupted` (comm/agree.hpp) passes as it is: the agreement goes by
/// its type.
void name_errors(const std::string& subject, const std::function<void()>& body);

}  // namespace drift
