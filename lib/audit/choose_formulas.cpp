// Which formulas a run computes, and why others are left out.

#include <algorithm>
#include <set>

#include "audit/claims.hpp"
#include "audit/resolve_parts.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"
#include "plugin/plugin.hpp"

namespace drift {
namespace {

template <class Names>
std::string joined(const Names& names) {
  std::string out;
  for (const auto& name : names) out += (out.empty() ? "" : ", ") + std::string(name);
  return out;
}

std::string known_ids() {
  std::vector<std::string_view> ids;
  for (const Formula& formula : formulas()) ids.push_back(formula.id);
  return joined(ids);
}

/// "" or why this formula cannot be part of the run.
std::string objection(const Formula& formula, const Case& run, const std::string& backend) {
  for (const std::string& claim : run.config.require)
    if (!holds(formula.claims, claim))
      return "does not claim '" + claim + "', which --require asks for (it claims " +
             joined(names_of(formula.claims)) + ")";
  return formula.refuses({.vocab = run.vocab,
                          .backend = backend,
                          .rule = run.candidate,
                          .has_row_temperatures = run.roles.temperature.has_value()});
}

}  // namespace

VocabBounds checked_bounds(const std::vector<std::int64_t>& typed, int tp, std::int64_t padded_vocab) {
  const std::string seen = "seen " + joined([&] {
                             std::vector<std::string> texts;
                             for (const std::int64_t bound : typed) texts.push_back(std::to_string(bound));
                             return texts;
                           }());
  require(typed.size() == static_cast<std::size_t>(tp) + 1, Fault::usage,
          "--vocab-bounds has " + std::to_string(typed.size()) + " numbers, " + seen + "; --tp " +
              std::to_string(tp) + " wants " + std::to_string(tp + 1));
  require(typed.front() == 0 && typed.back() == padded_vocab, Fault::usage,
          "--vocab-bounds must cover every column (one that nobody owns would be lost), " + seen +
              "; wanted 0 first and " + std::to_string(padded_vocab) + ", the padded vocabulary, last");
  require(std::is_sorted(typed.begin(), typed.end()), Fault::usage,
          "--vocab-bounds must not fall (a shard cannot end before it begins), " + seen);
  return {typed};
}

namespace {

/// Kernels of the user's stand after the built-in formulas, under the names they give themselves.
void add_plugins(Case& out, const std::string& backend) {
  for (const std::string& path : out.config.plugin) {
    const std::shared_ptr<const Formula> plugin = load_plugin(path);
    const bool is_taken = std::any_of(out.formulas.begin(), out.formulas.end(),
                                      [&](const Formula* formula) { return formula->id == plugin->id; });
    require(!is_taken, Fault::usage,
            "--plugin " + escaped(path) + " calls itself " + std::string(plugin->id) +
                ", as another candidate of this run");
    const std::string reason = objection(*plugin, out, backend);
    require(reason.empty(), Fault::usage,
            "plug-in " + std::string(plugin->id) + " (" + escaped(path) +
                ") cannot be part of this run: " + reason);
    out.plugins.push_back(plugin);
    out.formulas.push_back(plugin.get());
  }
}

void choose_built_in_formulas(Case& out, const std::string& backend) {
  for (const std::string& claim : out.config.require)
    require(std::find(claim_names.begin(), claim_names.end(), claim) != claim_names.end(), Fault::usage,
            "--require knows no claim '" + claim + "'; wanted any of " + joined(claim_names));

  const std::vector<std::string>& asked = out.config.formula;
  if (std::find(asked.begin(), asked.end(), "all") != asked.end()) {
    require(asked.size() == 1, Fault::usage, "--formula all stands alone, seen " + joined(asked));
    for (const Formula& formula : formulas()) {
      const std::string reason = objection(formula, out, backend);
      if (reason.empty())
        out.formulas.push_back(&formula);
      else
        out.rejected.emplace_back(formula.id, reason);
    }
    if (out.formulas.empty())  // the message speaks of a first refusal, which exists only now
      throw Error(Fault::usage, "no formula is left to run: " + out.rejected.front().first + " " +
                                    out.rejected.front().second);
    return;
  }
  std::set<std::string_view> seen;
  for (const std::string& id : asked) {
    const Formula* formula = find_formula(id);
    require(formula != nullptr, Fault::usage,
            "there is no formula '" + id + "'; wanted any of " + known_ids() + ", or all");
    require(seen.insert(formula->id).second, Fault::usage, "--formula names " + id + " twice");
    const std::string reason = objection(*formula, out, backend);
    require(reason.empty(), Fault::usage, "formula " + id + " cannot be part of this run: " + reason);
    out.formulas.push_back(formula);
  }
}

}  // namespace

void choose_formulas(Case& out, const std::string& backend) {
  choose_built_in_formulas(out, backend);
  add_plugins(out, backend);
}

}  // namespace drift
