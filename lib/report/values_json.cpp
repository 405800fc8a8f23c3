#include "report/values_json.hpp"

namespace drift {

Json value_json(const Value& value) {
  return std::visit(
      [](const auto& typed) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(typed)>, double>)
          return number(typed);
        else
          return typed;
      },
      value);
}

Json values_json(const NamedValues& values) {
  Json out = Json::object();
  for (const auto& [key, value] : values) out[key] = value_json(value);
  return out;
}

std::string canonical_text(const NamedValues& values) {
  const nlohmann::json sorted = values_json(values);  // std::map inside: keys ascending by bytes
  return sorted.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace drift
