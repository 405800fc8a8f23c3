#include "report/case_id.hpp"

#include <algorithm>

#include "base/digest.hpp"
#include "report/values_json.hpp"

namespace drift {

std::string fingerprint(const NamedValues& agreed) { return hex(digest(canonical_text(agreed))); }

std::string case_id(const NamedValues& typed_on_defaults, const std::string& dump) {
  NamedValues values = typed_on_defaults;
  std::erase_if(values, [](const auto& named) { return named.first == "dump"; });
  values.emplace_back("dump", dump);
  return fingerprint(values).substr(0, 16);
}

}  // namespace drift
