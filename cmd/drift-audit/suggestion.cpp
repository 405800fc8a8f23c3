// A typing error in an option's name should cost one look, not a search through --help.

#include "drift-audit/suggestion.hpp"

#include <algorithm>
#include <numeric>

namespace drift {
namespace {

/// Insertions, deletions and replacements that turn one word into the other.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t above = row[j + 1];
      row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (a[i] == b[j] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_word(const std::string& typed, const std::vector<std::string>& known) {
  std::string best;
  std::size_t least = 3;
  for (const std::string& word : known) {
    const std::size_t steps = distance(typed, word);
    if (steps < least && steps < word.size()) {
      least = steps;
      best = word;
    }
  }
  return best;
}

}  // namespace drift
