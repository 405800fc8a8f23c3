// Paths into the aggregate report, for --gate.

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "report/gate.hpp"
#include "report/number.hpp"
#include "report/to_json.hpp"

namespace drift {
namespace {

/// The word that names an object of a list: its formula or its name; "" if it has none.
std::string title(const Json& item) {
  for (const char* key : {"formula", "name"})
    if (item.is_object() && item.contains(key) && item[key].is_string()) return item[key].get<std::string>();
  return "";
}

const Json* item_of(const Json& list, const std::string& key) {
  // The bins of a stratum are called "0" and "1", too: there a name comes before an index.
  const bool bins = !list.empty() && list.front().is_object() && list.front().contains("mismatch_count");
  for (const Json& item : list)
    if (bins && title(item) == key) return &item;
  std::size_t index = 0;
  const auto [stop, error] = std::from_chars(key.data(), key.data() + key.size(), index);
  if (error == std::errc() && stop == key.data() + key.size())
    return index < list.size() ? &list[index] : nullptr;
  for (const Json& item : list)
    if (title(item) == key) return &item;
  return nullptr;
}

const Json* step(const Json& from, const std::string& key) {
  if (from.is_array()) return item_of(from, key);
  if (!from.is_object()) return nullptr;
  if (const auto found = from.find(key); found != from.end()) return &*found;
  if (const auto drift = from.find("drift"); drift != from.end()) return step(*drift, key);
  return nullptr;
}

std::vector<std::string> keys_of(const Json& from) {
  std::vector<std::string> keys;
  if (from.is_object()) {
    for (const auto& [key, value] : from.items()) keys.push_back(key);
    if (from.contains("drift"))
      for (const auto& [key, value] : from["drift"].items()) keys.push_back(key);
  } else if (from.is_array()) {
    for (std::size_t i = 0; i < from.size(); ++i)
      keys.push_back(title(from[i]).empty() ? std::to_string(i) : title(from[i]));
  }
  return keys;
}

std::size_t edits(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

/// Keys and indices as parse_gate reads them: a.b["c.d"].e
std::string joined(const std::vector<std::string>& path, std::size_t length) {
  std::string out;
  for (std::size_t i = 0; i < length; ++i) {
    const bool plain = !path[i].empty() && path[i].find_first_of(".[]\"=!<> \t\\") == std::string::npos;
    if (plain) {
      out += (i > 0 ? "." : "") + path[i];
      continue;
    }
    out += "[\"";
    for (const char c : path[i]) out += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    out += "\"]";
  }
  return out;
}

/// "metrics.k3" for the key k3 of a pair: where an object within `from` has exactly that key.
std::vector<std::string> keys_below(const Json& from, const std::string& key) {
  std::vector<std::string> out;
  if (!from.is_object()) return out;
  for (const std::string& outer : keys_of(from)) {
    const Json* below = step(from, outer);
    if (below != nullptr && below->is_object() && step(*below, key) != nullptr)
      out.push_back(joined({outer, key}, 2));
  }
  return out;
}

/// Some keys of `from` in the form that works, those that look most like `key` first; in their own order
/// without one. `path` leads to `from`: a key that needs brackets and quotes is shown behind it.
std::string nearest_keys(const Json& from, const std::string& key, std::vector<std::string> path) {
  std::vector<std::string> keys = keys_of(from);
  if (keys.empty()) return "nothing";
  if (!key.empty())
    std::stable_sort(keys.begin(), keys.end(), [&](const std::string& a, const std::string& b) {
      const auto distance = [&](const std::string& one) {  // a name cut at its dot was meant
        return one.starts_with(key + ".") ? std::size_t{0} : edits(one, key);
      };
      return distance(a) < distance(b);
    });
  std::vector<std::string> words = key.empty() ? std::vector<std::string>{} : keys_below(from, key);
  for (const std::string& one : keys) {
    const std::string alone = joined({one}, 1);
    path.push_back(one);
    words.push_back(alone == one ? one : joined(path, path.size()));
    path.pop_back();
  }
  constexpr std::size_t shown = 8;
  std::string out;
  for (std::size_t i = 0; i < std::min(words.size(), shown); ++i) out += (i > 0 ? ", " : "") + words[i];
  return words.size() > shown ? out + ", ..." : out;
}

}  // namespace

struct ReportValues::State {
  Json json;
};

ReportValues::ReportValues(const AggregateReport& report) : ReportValues(to_json(report)) {}
ReportValues::ReportValues(const std::string& aggregate_json) : state_(std::make_unique<State>()) {
  state_->json = Json::parse(aggregate_json, nullptr, false);
  require(state_->json.is_object(), Fault::input, "an aggregate report is not a JSON object");
}
ReportValues::ReportValues(ReportValues&&) noexcept = default;
ReportValues& ReportValues::operator=(ReportValues&&) noexcept = default;
ReportValues::~ReportValues() = default;

double ReportValues::number(const std::vector<std::string>& path, const std::string& text) const {
  const Json* at = &state_->json;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const Json* next = step(*at, path[i]);
    if (next == nullptr)
      throw Error(
          Fault::usage,
          "--gate '" + text + "' selects nothing of the report: " + (i == 0 ? "it" : joined(path, i)) +
              " has no '" + path[i] + "'; nearest are " +
              nearest_keys(*at, path[i], {path.begin(), path.begin() + static_cast<std::ptrdiff_t>(i)}));
    at = next;
  }
  if (const auto value = number_of(*at)) return *value;
  throw Error(Fault::usage,
              "--gate '" + text + "' needs a number, but " + joined(path, path.size()) +
                  " of the report is " +
                  (at->is_object() || at->is_array()
                       ? "a group with the keys " + nearest_keys(*at, "", path)
                       : "no number: " + at->dump(-1, ' ', false, Json::error_handler_t::replace)));
}

std::int64_t ReportValues::left_out(const std::vector<std::string>& path) const {
  // recorded, NAME, vs, REFERENCE, or pairs, NAME: what leads to a comparison
  const std::size_t length = path[0] == "recorded" ? 4 : path[0] == "pairs" ? 2 : path.size();
  if (path.size() <= length) return 0;
  const std::string& last = path.back();
  if (last == "count" || last == "nonfinite") return 0;
  const Json* at = &state_->json;
  for (std::size_t i = 0; i < length && at != nullptr; ++i) at = step(*at, path[i]);
  const Json* nonfinite = at == nullptr ? nullptr : step(*at, "nonfinite");
  return nonfinite != nullptr && nonfinite->is_number_integer() ? nonfinite->get<std::int64_t>() : 0;
}

}  // namespace drift
