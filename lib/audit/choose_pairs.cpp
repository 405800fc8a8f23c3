// Which columns are compared with each other, beside the oracle.

#include <algorithm>

#include "audit/resolve_parts.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"

namespace drift {
namespace {

/// A name that a pair may be made of, and what it is a column of.
struct Comparand {
  std::string name;
  bool has_logp = true, has_lse = true;
};

std::vector<Comparand> comparands(const Case& run) {
  std::vector<Comparand> all;
  for (const Recorded& recorded : run.roles.recorded)
    all.push_back({recorded.name, recorded.kind == RecordedKind::logp, recorded.kind == RecordedKind::lse});
  if (!run.has_logits()) return all;
  all.push_back({"oracle"});
  for (const Formula* formula : run.formulas) all.push_back({std::string(formula->id)});
  return all;
}

/// "A:B", where both names may hold colons.
Pair named_pair(const std::string& word, const std::vector<Comparand>& all) {
  const auto find = [&](const std::string& name) {
    return std::find_if(all.begin(), all.end(), [&](const Comparand& one) { return one.name == name; });
  };
  for (std::size_t colon = word.find(':'); colon != std::string::npos; colon = word.find(':', colon + 1)) {
    const auto a = find(word.substr(0, colon)), b = find(word.substr(colon + 1));
    if (a == all.end() || b == all.end()) continue;
    require(a != b, Fault::usage,
            "--pair '" + escaped(word) + "' compares " + a->name +
                " with itself (it would always agree); wanted two");
    const bool are_logp = a->has_logp && b->has_logp, are_lse = a->has_lse && b->has_lse;
    require(are_logp || are_lse, Fault::usage,
            "--pair '" + escaped(word) + "' would compare a log-prob with an LSE; wanted two of one kind");
    return {a->name, b->name, are_logp ? RecordedKind::logp : RecordedKind::lse};
  }
  std::string known;
  for (const Comparand& one : all) known += (known.empty() ? "" : ", ") + one.name;
  throw Error(Fault::usage,
              "--pair '" + escaped(word) + "' is not A:B of two names of this run; wanted two of " + known);
}

/// Every two recorded tensors of a kind, the training side first where names tell.
std::vector<Pair> all_pairs(const std::vector<Recorded>& recorded) {
  std::vector<Pair> out;
  for (std::size_t i = 0; i < recorded.size(); ++i)
    for (std::size_t j = i + 1; j < recorded.size(); ++j) {
      const Recorded &first = recorded[i], &second = recorded[j];
      if (first.kind != second.kind) continue;
      const bool swapped = is_rollout_name(first.tensor.name) && !is_rollout_name(second.tensor.name);
      out.push_back(swapped ? Pair{second.name, first.name, first.kind}
                            : Pair{first.name, second.name, first.kind});
    }
  return out;
}

}  // namespace

void choose_pairs(Case& out) {
  std::vector<std::string>& typed = out.config.pair;
  if (typed.empty()) {
    out.pairs = all_pairs(out.roles.recorded);
  } else {
    const std::vector<Comparand> all = comparands(out);
    for (const std::string& word : typed) {
      const Pair pair = named_pair(word, all);
      const bool is_there = std::any_of(out.pairs.begin(), out.pairs.end(),
                                        [&](const Pair& other) { return other.name() == pair.name(); });
      require(!is_there, Fault::usage, "--pair names '" + escaped(word) + "' twice");
      out.pairs.push_back(pair);
    }
  }
  typed.clear();
  for (const Pair& pair : out.pairs) typed.push_back(pair.name());
}

}  // namespace drift
