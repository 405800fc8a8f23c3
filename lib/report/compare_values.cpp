// Digests, and drift before and after, of everything that two reports compared.

#include <cmath>

#include "base/text_grid.hpp"
#include "report/compare_parts.hpp"

namespace drift {
namespace {

struct Quantity {
  std::string name;
  std::string formula;  ///< without which there would be no such quantity; "" if none is needed
  const Json* drift = nullptr;
};

struct DigestOf {
  std::string name, digest;
};

std::string title(const Json& pair) { return "pair " + pair.at("name").get<std::string>(); }

/// The side of a pair that is a candidate's formula; "" if neither is.
std::string formula_of(const Json& report, const Json& pair) {
  if (const Json* candidates = value_at(report, {"candidates"}))
    for (const Json& candidate : *candidates)
      for (const char* key : {"a", "b"})
        if (pair.at(key) == candidate.at("formula")) return pair.at(key).get<std::string>();
  return "";
}

/// Everything that was compared: "<formula> lse", "<formula> logp", "<recorded> vs <reference>", "pair
/// <a>:<b>".
std::vector<Quantity> quantities(const Json& report) {
  std::vector<Quantity> out;
  if (const Json* candidates = value_at(report, {"candidates"}))
    for (const Json& candidate : *candidates)
      for (const char* key : {"lse", "logp"}) {
        const auto formula = candidate.at("formula").get<std::string>();
        out.push_back({formula + " " + key, formula, &candidate.at("drift").at(key)});
      }
  if (const Json* recorded = value_at(report, {"recorded"}))
    for (const Json& tensor : *recorded)
      for (const auto& [against, compared] : tensor.at("vs").items())
        out.push_back({tensor.at("name").get<std::string>() + " vs " + against,
                       against == "oracle" ? "" : against, &compared.at("drift")});
  if (const Json* pairs = value_at(report, {"pairs"}))
    for (const Json& pair : *pairs) out.push_back({title(pair), formula_of(report, pair), &pair.at("drift")});
  return out;
}

std::vector<DigestOf> digests(const Json& report) {
  std::vector<DigestOf> out;
  const auto add = [&](const std::string& name, const Json& pair) {
    for (const char* key : {"lse", "logp"})
      out.push_back({name + " " + key, pair.at(key).get<std::string>()});
  };
  if (const Json* oracle = value_at(report, {"oracle"})) add("oracle", oracle->at("digests"));
  if (const Json* candidates = value_at(report, {"candidates"}))
    for (const Json& candidate : *candidates)
      add(candidate.at("formula").get<std::string>(), candidate.at("digests"));
  if (const Json* recorded = value_at(report, {"recorded"}))
    for (const Json& tensor : *recorded)
      out.push_back(
          {tensor.at("name").get<std::string>() + " (recorded)", tensor.at("digest").get<std::string>()});
  return out;
}

template <class T>
const T* named(const std::vector<T>& all, const std::string& name) {
  for (const T& one : all)
    if (one.name == name) return &one;
  return nullptr;
}

double value(const Json& drift, const char* key) { return number_of(drift.at(key)).value_or(NAN); }

/// "1e-06 -> 2e-06"; where three digits hide that it moved, also by how much.
std::string moved(double was, double is) {
  const std::string from = short_number(was), to = short_number(is);
  if (was == is || (std::isnan(was) && std::isnan(is))) return from;
  const std::string by = from == to ? (is > was ? " (+" : " (") + short_number(is - was) + ")" : "";
  return from + " -> " + to + by;
}

std::string moved(std::int64_t was, std::int64_t is) {
  return was == is ? grouped(was) : grouped(was) + " -> " + grouped(is);
}

/// A line of the table; either side may not have been compared.
std::vector<std::string> row(const std::string& name, const Quantity* was, const Quantity* is) {
  std::vector<std::string> out{name};
  const auto add = [&](auto get, auto text) {
    if (was == nullptr)
      out.push_back("none -> " + text(get(*is->drift)));
    else if (is == nullptr)
      out.push_back(text(get(*was->drift)) + " -> none");
    else
      out.push_back(moved(get(*was->drift), get(*is->drift)));
  };
  for (const char* key : {"max_abs", "mean_abs"})
    add([&](const Json& drift) { return value(drift, key); }, short_number);
  for (const char* key : {"mismatch_count", "count", "nonfinite"})
    add([&](const Json& drift) { return drift.at(key).get<std::int64_t>(); }, grouped);
  return out;
}

/// NaN is larger than any number: it hides one.
bool larger(double a, double b) { return std::isnan(a) ? !std::isnan(b) : a > b; }

/// A smaller drift of fewer rows is no smaller drift.
void judge(Findings& out, const std::string& name, const Json& before, const Json& after) {
  const auto whole = [&](const Json& drift, const char* key) { return drift.at(key).get<std::int64_t>(); };
  const auto reason = [&](const char* key) {
    return name + ": " + key + " " + moved(whole(before, key), whole(after, key));
  };
  const bool fewer = whole(after, "count") < whole(before, "count");
  const bool more_lost = whole(after, "nonfinite") > whole(before, "nonfinite");
  if (fewer) out.worse.push_back(reason("count"));
  if (more_lost) out.worse.push_back(reason("nonfinite"));
  if (whole(after, "nonfinite") < whole(before, "nonfinite") && !fewer)
    out.better.push_back(reason("nonfinite"));
  const double was = value(before, "max_abs"), is = value(after, "max_abs");
  const std::string drifted = name + ": max_abs " + moved(was, is);
  if (larger(is, was)) out.worse.push_back(drifted);
  if (larger(was, is) && !fewer && !more_lost) out.better.push_back(drifted);
}

Findings compare_digests(const Json& before, const Json& after) {
  Findings out;
  const auto was = digests(before), is = digests(after);
  std::string same;
  std::vector<std::string> texts;
  for (const DigestOf& now : is) {
    const DigestOf* old = named(was, now.name);
    if (old != nullptr && old->digest == now.digest)
      same += (same.empty() ? "" : ", ") + now.name;
    else
      texts.push_back(now.name + ": " + (old ? old->digest : "none") + " -> " + now.digest);
  }
  for (const DigestOf& old : was)
    if (named(is, old.name) == nullptr) texts.push_back(old.name + ": " + old.digest + " -> none");
  if (!same.empty()) texts.insert(texts.begin(), "equal: " + same);
  out.say("digests", texts);
  return out;
}

/// Why NEW left a formula out, if it says so.
std::string rejection(const Json& after, const std::string& formula) {
  if (const Json* rejected = value_at(after, {"rejected"}))
    for (const Json& one : *rejected)
      if (one.at("formula") == formula) return " (rejected: " + one.at("reason").get<std::string>() + ")";
  return "";
}

/// What OLD compared must not drop out of sight; what NEW did not ask for may.
void judge_lost(Findings& out, const Json& before, const Json& after) {
  const auto compared_something = [](const Json& report) {
    return value_at(report, {"candidates"}) != nullptr || value_at(report, {"pairs"}) != nullptr;
  };
  if (!compared_something(before)) return;
  if (!compared_something(after)) {
    out.worse.push_back("NEW failed before anything was compared");
    return;
  }
  const auto is_digests = digests(after);
  const auto is = quantities(after);
  for (const Json& candidate : before.value("candidates", Json::array())) {
    const auto formula = candidate.at("formula").get<std::string>();
    if (named(is, formula + " lse") == nullptr && asks_for(after, formula))
      out.worse.push_back("candidate " + formula + " is no longer computed" + rejection(after, formula));
  }
  for (const Json& tensor : before.value("recorded", Json::array())) {
    const auto name = tensor.at("name").get<std::string>();
    if (named(is_digests, name + " (recorded)") == nullptr) {
      out.worse.push_back("recorded " + name + " is no longer compared");
      continue;
    }
    for (const auto& [against, compared] : tensor.at("vs").items())
      if (named(is, name + " vs " + against) == nullptr && (against == "oracle" || asks_for(after, against)))
        out.worse.push_back("recorded " + name + " is no longer compared with " + against);
  }
  for (const Json& pair : before.value("pairs", Json::array())) {
    const std::string formula = formula_of(before, pair);
    if (named(is, title(pair)) == nullptr && (formula.empty() || asks_for(after, formula)))
      out.worse.push_back(title(pair) + " is no longer compared");
  }
}

/// Pairs whose rows stopped belonging together, or belong together again.
void judge_order(Findings& out, const Json& before, const Json& after) {
  for (const Json& now : after.value("pairs", Json::array()))
    for (const Json& old : before.value("pairs", Json::array())) {
      if (old.at("name") != now.at("name") || old.at("permuted") == now.at("permuted")) continue;
      const bool permuted = now.at("permuted").get<bool>();
      (permuted ? out.worse : out.better)
          .push_back(title(now) +
                     (permuted ? ": one is a permutation of the other" : ": no permutation any more"));
    }
}

}  // namespace

Findings compare_values(const Json& before, const Json& after, bool same_inputs) {
  Findings out = compare_digests(before, after);
  const auto was = quantities(before), is = quantities(after);
  std::vector<std::vector<std::string>> rows{{"", "max_abs", "mean_abs", "differ", "of", "not finite"}};
  std::vector<std::string> not_asked;
  for (const Quantity& now : is) {
    const Quantity* old = named(was, now.name);
    rows.push_back(row(now.name, old, &now));
    if (old != nullptr && same_inputs) judge(out, now.name, *old->drift, *now.drift);
  }
  if (same_inputs) judge_order(out, before, after);
  for (const Quantity& old : was) {
    if (named(is, old.name) != nullptr) continue;
    rows.push_back(row(old.name, &old, nullptr));
    if (!old.formula.empty() && !asks_for(after, old.formula)) not_asked.push_back(old.name);
  }
  std::vector<std::string> texts = rows.size() > 1 ? aligned(rows, 1) : std::vector<std::string>{};
  for (const std::string& name : not_asked)
    texts.push_back(name + ": no longer compared, NEW did not ask for that formula");
  out.say("drift (nats)", texts);
  judge_lost(out, before, after);
  return out;
}

}  // namespace drift
