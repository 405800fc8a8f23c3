// `formulas`: the registry, for people.

#include "audit/claims.hpp"
#include "base/text_grid.hpp"
#include "drift-audit/commands.hpp"

namespace drift {
namespace {

std::string claims_of(const Formula& formula) {
  std::string out;
  for (const std::string& claim : names_of(formula.claims)) out += (out.empty() ? "" : ", ") + claim;
  return out.empty() ? "nothing across runs" : "same bits whatever the " + out;
}

/// Found by asking: the smallest vocabulary that is accepted, and what is said below it.
std::string accepts(const Formula& formula) {
  const auto refusal = [&](std::int64_t vocab) {
    return formula.refuses({.vocab = vocab, .backend = "cpu"});
  };
  if (refusal(1).empty()) return "every run";
  std::int64_t refused = 1, accepted = std::int64_t{1} << 40;
  if (!refusal(accepted).empty()) return "no run: " + refusal(accepted);
  while (accepted - refused > 1) {
    const std::int64_t middle = refused + (accepted - refused) / 2;
    (refusal(middle).empty() ? accepted : refused) = middle;
  }
  return "vocabularies of at least " + grouped(accepted) + " columns";
}

}  // namespace

int list_formulas(const Console& console) {
  for (const Formula& formula : formulas()) {
    console.say(std::string(formula.id));
    std::vector<std::vector<std::string>> rows{{"computes", std::string(formula.summary)},
                                               {"used by", std::string(formula.used_by)},
                                               {"claims", claims_of(formula)},
                                               {"accepts", accepts(formula)}};
    if (!formula.claims.origin.empty()) rows.push_back({"equals", std::string(formula.claims.origin)});
    console.say(aligned(rows, 2, "  "));
  }
  return 0;
}

}  // namespace drift
