// The formula table: the project's only global besides constants.

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "formulas/formula.hpp"

namespace drift {
namespace {

std::vector<Formula>& table() {
  static std::vector<Formula> rows;
  return rows;
}

}  // namespace

Registered::Registered(const Formula& formula) {
  auto& rows = table();
  const auto at = std::ranges::lower_bound(rows, formula.id, {}, &Formula::id);
  require(at == rows.end() || at->id != formula.id, Fault::internal,
          "two formulas are registered as " + std::string(formula.id));
  rows.insert(at, formula);
}

std::span<const Formula> formulas() { return table(); }

const Formula* find_formula(std::string_view id) {
  const auto& rows = table();
  const auto at = std::ranges::lower_bound(rows, id, {}, &Formula::id);
  return at != rows.end() && at->id == id ? &*at : nullptr;
}

std::vector<std::string> names_of(const Claims& claims) {
  std::vector<std::string> out;
  if (claims.tp) out.emplace_back("tp");
  if (claims.bounds) out.emplace_back("bounds");
  if (claims.padded_width) out.emplace_back("padded-width");
  if (claims.rows) out.emplace_back("rows");
  if (claims.chunking) out.emplace_back("chunking");
  if (claims.backend) out.emplace_back("backend");
  return out;
}

}  // namespace drift
