// Digests, and drift before and after, of everything that two reports compared.

#include <cmath>

#include "report/compare_parts.hpp"

namespace drift {
namespace {

struct Quantity {
  std::string name;
  const Json* drift = nullptr;
};

struct DigestOf {
  std::string name, digest;
};

/// Everything that was compared: "<formula> lse", "<formula> logp", "<recorded> vs <reference>".
std::vector<Quantity> quantities(const Json& report) {
  std::vector<Quantity> out;
  if (const Json* candidates = value_at(report, {"candidates"}))
    for (const Json& candidate : *candidates)
      for (const char* key : {"lse", "logp"})
        out.push_back(
            {candidate.at("formula").get<std::string>() + " " + key, &candidate.at("drift").at(key)});
  if (const Json* recorded = value_at(report, {"recorded"}))
    for (const Json& tensor : *recorded)
      for (const auto& [against, compared] : tensor.at("vs").items())
        out.push_back({tensor.at("name").get<std::string>() + " vs " + against, &compared.at("drift")});
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

std::string move(const Json& before, const Json& after, const char* key) {
  const std::string was = shown(value(before, key)), is = shown(value(after, key));
  return std::string(key) + " " + (was == is ? was : was + " -> " + is);
}

/// NaN is larger than any number: it hides one.
bool larger(double a, double b) { return std::isnan(a) ? !std::isnan(b) : a > b; }

void judge(Findings& out, const std::string& name, const Json& before, const Json& after) {
  for (const char* key : {"max_abs", "nonfinite"}) {
    const double was = value(before, key), is = value(after, key);
    const std::string reason = name + ": " + key + " " + shown(was) + " -> " + shown(is);
    if (larger(is, was)) out.worse.push_back(reason);
    if (larger(was, is)) out.better.push_back(reason);
  }
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

}  // namespace

Findings compare_values(const Json& before, const Json& after, bool same_inputs) {
  Findings out = compare_digests(before, after);
  const auto was = quantities(before), is = quantities(after);
  std::vector<std::string> texts;
  for (const Quantity& now : is) {
    const Quantity* old = named(was, now.name);
    if (old == nullptr) {
      texts.push_back(now.name + ": not compared before; max_abs " + shown(value(*now.drift, "max_abs")));
      continue;
    }
    texts.push_back(now.name + ": " + move(*old->drift, *now.drift, "max_abs") + ", " +
                    move(*old->drift, *now.drift, "mean_abs") + ", " +
                    move(*old->drift, *now.drift, "mismatch_count") + " of " +
                    shown(&now.drift->at("count")));
    if (same_inputs) judge(out, now.name, *old->drift, *now.drift);
  }
  for (const Quantity& old : was)
    if (named(is, old.name) == nullptr)
      texts.push_back(old.name + ": no longer compared; max_abs was " + shown(value(*old.drift, "max_abs")));
  out.say("drift (nats)", texts);

  const Json* recorded = value_at(before, {"recorded"});
  if (recorded == nullptr || value_at(after, {"recorded"}) == nullptr) return out;
  for (const Json& tensor : *recorded) {  // what the user's own system gave must not drop out of sight
    const std::string name = tensor.at("name").get<std::string>();
    if (named(digests(after), name + " (recorded)") == nullptr)
      out.worse.push_back("recorded " + name + " is no longer compared");
  }
  return out;
}

}  // namespace drift
