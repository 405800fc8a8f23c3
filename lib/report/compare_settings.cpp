// Status, inputs, configuration, environment and gates of two reports.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "base/text_grid.hpp"
#include "report/compare_parts.hpp"

namespace drift {
namespace {

constexpr std::size_t heading_width = 15;

int severity(const Json& report) {
  const std::string status = report.at("status").get<std::string>();
  return status == "pass" ? 0 : status == "drift" ? 1 : 2;
}

/// "key: old -> new" for every key of two objects (either may be nullptr) whose values differ.
std::vector<std::string> changes(const Json* before, const Json* after, const std::string& prefix = "") {
  std::vector<std::string> out;
  const Json none = Json::object();
  const Json& a = before ? *before : none;
  const Json& b = after ? *after : none;
  for (const auto& [key, value] : a.items()) {
    const Json* now = value_at(b, {key.c_str()});
    if (now == nullptr || *now != value)
      out.push_back(prefix + key + ": " + shown(&value) + " -> " + shown(now));
  }
  for (const auto& [key, value] : b.items())
    if (!a.contains(key)) out.push_back(prefix + key + ": none -> " + shown(&value));
  return out;
}

/// The formula whose limit bears that name; "" for a --gate, whose name is an expression.
std::string formula_of_limit(const std::string& name) {
  const std::string before = "candidates.";
  if (!name.starts_with(before) || name.find_first_of("=<>") != std::string::npos) return "";
  return name.substr(before.size(), name.rfind('.') - before.size());
}

}  // namespace

bool asks_for(const Json& report, const std::string& formula) {
  for (const Json& id : report.at("case").at("formula"))
    if (id == formula || id == "all") return true;
  return false;
}

void Findings::say(const std::string& heading, const std::vector<std::string>& texts) {
  std::string left = heading;
  for (const std::string& text : texts) {
    left.resize(std::max(heading_width, left.size() + 1), ' ');
    lines.push_back(left + text);
    left.clear();
  }
}

void Findings::add(const Findings& more) {
  lines.insert(lines.end(), more.lines.begin(), more.lines.end());
  worse.insert(worse.end(), more.worse.begin(), more.worse.end());
  better.insert(better.end(), more.better.begin(), more.better.end());
}

const Json* value_at(const Json& json, std::initializer_list<const char*> keys) {
  const Json* at = &json;
  for (const char* key : keys) {
    if (!at->is_object()) return nullptr;
    const auto found = at->find(key);
    if (found == at->end()) return nullptr;
    at = &*found;
  }
  return at;
}

std::string shown(const Json* value) {
  return value == nullptr ? "none" : value->dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string shown(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[32];
  return std::string(buffer, std::to_chars(std::begin(buffer), std::end(buffer), value).ptr);
}

Findings compare_status(const Json& before, const Json& after) {
  Findings out;
  const auto text = [](const Json& report) {
    std::string status =
        report.at("status").get<std::string>() + " (exit " + shown(&report.at("exit_code")) + ")";
    if (const Json* message = value_at(report, {"error", "message"}))
      status +=
          " in phase " + shown(value_at(report, {"error", "phase"})) + ": " + message->get<std::string>();
    return status;
  };
  const std::string old_text = text(before), new_text = text(after);
  if (old_text == new_text)
    out.say("status", {"both " + old_text});
  else
    out.say("status", {"OLD " + old_text, "NEW " + new_text});
  const int was = severity(before), is = severity(after);
  const std::string move =
      before.at("status").get<std::string>() + " -> " + after.at("status").get<std::string>();
  if (is > was) out.worse.push_back("status " + move);
  if (is < was) out.better.push_back("status " + move);
  const std::string old_scope = shown(value_at(before, {"scope"})),
                    new_scope = shown(value_at(after, {"scope"}));
  if (old_scope != new_scope) out.say("scope", {old_scope + " -> " + new_scope});
  return out;
}

Findings compare_inputs(const Json& before, const Json& after, bool& same_inputs) {
  Findings out;
  same_inputs = false;
  const Json* a = value_at(before, {"input"});
  const Json* b = value_at(after, {"input"});
  if (a == nullptr || b == nullptr) {
    const std::string which = a == nullptr && b == nullptr ? "both runs" : a == nullptr ? "OLD" : "NEW";
    out.say("inputs",
            {"NOT COMPARABLE: " + which +
             " failed before the input was read; only status, gates and what is no longer compared count"});
    return out;
  }
  std::vector<std::string> differing;  // bits and meaning, not the names that they were stored under
  for (const char* tensor : {"logits", "targets", "mask", "temperature"})
    for (const char* key : {"dtype", "shape", "digest"}) {
      const std::string was = shown(value_at(*a, {tensor, key})), is = shown(value_at(*b, {tensor, key}));
      if (was != is) differing.push_back(std::string(tensor) + "." + key + ": " + was + " -> " + is);
    }
  for (const char* key : {"vocabulary", "kept", "rows", "active_rows"})
    if (shown(value_at(*a, {key})) != shown(value_at(*b, {key})))
      differing.push_back(std::string(key) + ": " + shown(value_at(*a, {key})) + " -> " +
                          shown(value_at(*b, {key})));
  same_inputs = differing.empty();
  if (same_inputs) {
    out.say("inputs", {"same bits: " + shown(value_at(*a, {"rows"})) + " rows, " +
                       shown(value_at(*a, {"active_rows"})) + " active, " +
                       (a->contains("logits") ? "logits " + shown(value_at(*a, {"logits", "digest"}))
                                              : std::string("no logits"))});
    if (a->at("files") != b->at("files"))
      out.say("", {"files differ in name, size or header: " + shown(&a->at("files")) + " -> " +
                   shown(&b->at("files"))});
  } else {
    differing.insert(
        differing.begin(),
        "NOT COMPARABLE: the inputs differ, so sizes of drift say nothing about each other; only "
        "status, gates and what is no longer compared count");
    out.say("inputs", differing);
  }
  return out;
}

Findings compare_settings(const Json& before, const Json& after) {
  Findings out;
  std::vector<std::string> texts = changes(value_at(before, {"case"}), value_at(after, {"case"}));
  out.say("configuration", texts.empty() ? std::vector<std::string>{"same"} : texts);
  texts =
      changes(value_at(before, {"environment", "versions"}), value_at(after, {"environment", "versions"}));
  for (std::string& text :
       changes(value_at(before, {"environment", "variables"}), value_at(after, {"environment", "variables"})))
    texts.push_back(std::move(text));
  for (const char* key : {"gpu_models", "differing_ranks"}) {
    const std::string was = shown(value_at(before, {"environment", key}));
    const std::string is = shown(value_at(after, {"environment", key}));
    if (was != is) texts.push_back(std::string(key) + ": " + was + " -> " + is);
  }
  out.say("environment", texts.empty() ? std::vector<std::string>{"same"} : texts);
  return out;
}

Findings compare_gates(const Json& before, const Json& after) {
  Findings out;
  const auto gates = [](const Json& report) {
    std::map<std::string, const Json*> by_name;
    if (const Json* all = value_at(report, {"gates"}))
      for (const Json& gate : *all) by_name[gate.at("name").get<std::string>()] = &gate;
    return by_name;
  };
  const auto text = [](const Json& gate) -> std::string {
    const double value = number_of(gate.at("value")).value(), limit = number_of(gate.at("limit")).value();
    const auto rows = gate.at("rows_over").get<std::int64_t>();
    const bool is_limit = !formula_of_limit(gate.at("name").get<std::string>()).empty();
    std::string seen = distinct_number(value, limit) + " against " + short_number(limit);
    if (rows > 0) seen += ", " + counted(rows, "row") + (is_limit ? " over" : " not finite");
    return seen;
  };
  const auto was = gates(before), is = gates(after);
  std::vector<std::string> texts;
  for (const auto& [name, gate] : is) {
    const auto old = was.find(name);
    const bool passes = gate->at("passed").get<bool>();
    const bool passed = old == was.end() || old->second->at("passed").get<bool>();
    if (passes == passed) continue;
    const std::string flip = "gate " + name +
                             (passes             ? " passes again"
                              : old == was.end() ? " is new and fails"
                                                 : " now fails");
    texts.push_back(flip.substr(5) + ": " + (old == was.end() ? "none" : text(*old->second)) + " -> " +
                    text(*gate));
    (passes ? out.better : out.worse).push_back(flip);
  }
  for (const auto& [name, gate] : was) {
    if (is.contains(name)) continue;
    const std::string formula = formula_of_limit(name);
    const bool asked = formula.empty() || asks_for(after, formula);
    texts.push_back(name + ": no longer there, was " + text(*gate) +
                    (asked ? "" : "; NEW did not ask for " + formula));
    if (asked && value_at(after, {"gates"}) != nullptr)
      out.worse.push_back("gate " + name + " is no longer checked");
  }
  if (texts.empty()) texts.push_back("none flipped, of " + std::to_string(is.size()));
  out.say("gates", texts);
  return out;
}

}  // namespace drift
