#pragma once

// The pieces that several documents share. Private to lib/report.

#include <vector>

#include "report/number.hpp"
#include "report/report.hpp"

namespace drift {

Json schema_json(const char* name);
Json range_json(Range range);
Json ranges_json(const std::vector<Range>& ranges);
Json stats_json(const Drift& drift);
Json token_json(const Token& token);
Json tokens_json(const std::vector<Token>& tokens);
Json digests_json(const LseLogp& digests);
Json error_json(const ErrorReport& error);

template <class T>
Json list(const std::vector<T>& items, Json (*one)(const T&)) {
  Json out = Json::array();
  for (const T& item : items) out.push_back(one(item));
  return out;
}

}  // namespace drift
