#include "base/error.hpp"

namespace drift {

std::string_view name(Fault fault) {
  switch (fault) {
    case Fault::usage: return "usage";
    case Fault::input: return "input";
    case Fault::io: return "io";
    case Fault::device: return "device";
    case Fault::comm: return "comm";
    case Fault::timeout: return "timeout";
    case Fault::internal: return "internal";
  }
  return "internal";
}

}  // namespace drift
