#pragma once

// Validation against the built-in schemas (draft-07, valijson). Tests only: the tool never validates at run
// time.

#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "report/schemas.hpp"

namespace drift {

/// The built-in schema called `name`, compiled once: tests validate thousands of documents.
inline const valijson::Schema& compiled_schema(const std::string& name) {
  static std::map<std::string, valijson::Schema> compiled;
  for (const Schema& schema : schemas()) {
    if (schema.name != name) continue;
    const auto [at, is_new] = compiled.try_emplace(name);
    if (is_new) {
      const auto parsed = nlohmann::json::parse(schema.text);
      valijson::SchemaParser(valijson::SchemaParser::kDraft7)
          .populateSchema(valijson::adapters::NlohmannJsonAdapter(parsed), at->second);
    }
    return at->second;
  }
  throw std::logic_error("there is no schema called " + name);
}

/// Why `document` is not valid against the schema called `name`; "" if it is.
inline std::string schema_errors(const std::string& name, const nlohmann::json& document) {
  valijson::ValidationResults results;
  valijson::Validator validator;
  const valijson::adapters::NlohmannJsonAdapter adapter(document);
  if (validator.validate(compiled_schema(name), adapter, &results)) return "";
  std::ostringstream out;
  valijson::ValidationResults::Error error;
  while (results.popError(error)) {
    for (const std::string& part : error.context) out << part;
    out << ": " << error.description << '\n';
  }
  return out.str().empty() ? "not valid" : out.str();
}

inline std::string schema_errors(const std::string& name, const std::string& text) {
  return schema_errors(name, nlohmann::json::parse(text));
}

}  // namespace drift
