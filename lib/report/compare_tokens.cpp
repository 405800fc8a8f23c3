// The first token at which two runs differ, column by column.

#include <bit>
#include <cmath>
#include <filesystem>
#include <optional>

#include "base/ulp.hpp"
#include "report/compare_parts.hpp"
#include "report/tokens.hpp"

namespace drift {
namespace {

std::optional<TokenTable> tokens_beside(const StoredReport& report) {
  const std::string path = (std::filesystem::path(report.folder) / "tokens.safetensors").string();
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  return read_tokens(path);
}

struct Difference {
  std::string column;
  std::size_t first = 0;
  std::size_t rows = 0;
};

bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

/// How many of [0, rows) differ and where first; nothing if none does.
template <class Differs>
std::optional<Difference> differing(const std::string& column, std::size_t rows, Differs differs) {
  Difference out;
  out.column = column;
  for (std::size_t r = 0; r < rows; ++r) {
    if (!differs(r)) continue;
    if (out.rows++ == 0) out.first = r;
  }
  if (out.rows == 0) return std::nullopt;
  return out;
}

const std::vector<float>* column_of(const TokenTable& table, const std::string& name) {
  for (const auto& [other, values] : table.values)
    if (other == name) return &values;
  return nullptr;
}

std::string position(const Json& report, std::size_t row) {
  const Json* shape = value_at(report, {"input", "logits", "shape"});
  std::size_t dimensions = 3;
  if (shape == nullptr) {  // pairs alone: the targets have the logits' shape but for the vocabulary
    shape = value_at(report, {"input", "targets", "shape"});
    dimensions = 2;
  }
  if (shape == nullptr || shape->size() != dimensions) return "";
  const auto sequence = shape->at(1).get<std::size_t>();
  if (sequence == 0) return "";
  return ", position [" + std::to_string(row / sequence) + ", " + std::to_string(row % sequence) + "]";
}

/// ", target 5 -> 6" of one row; "" where neither report has the column.
template <class T>
std::string integer_text(const std::string& what, const std::vector<T>& was, const std::vector<T>& is,
                         std::size_t row) {
  if (was.empty() && is.empty()) return "";
  const auto text = [&](const std::vector<T>& values) {
    return values.empty() ? std::string("none") : std::to_string(values[row]);
  };
  return ", " + what + " " + text(was) + (text(was) == text(is) ? "" : " -> " + text(is));
}

std::string value_text(float value) { return shown(static_cast<double>(value)) + " " + bits_text(value); }

}  // namespace

Findings compare_tokens(const StoredReport& before, const StoredReport& after) {
  Findings out;
  const auto was = tokens_beside(before), is = tokens_beside(after);
  if (!was || !is) {
    out.say("first token",
            {std::string("unknown: no tokens.safetensors beside ") + (!was && !is ? "either report"
                                                                      : !was      ? "OLD"
                                                                                  : "NEW")});
    return out;
  }
  const std::size_t rows = was->active.size();
  if (rows != is->active.size()) {
    out.say("first token", {"not comparable: " + std::to_string(rows) + " rows in OLD, " +
                            std::to_string(is->active.size()) + " in NEW"});
    return out;
  }
  std::vector<Difference> found;
  std::string apart;
  const auto keep = [&](std::optional<Difference> difference) {
    if (difference) found.push_back(std::move(*difference));
  };
  keep(differing("active", rows, [&](std::size_t r) { return was->active[r] != is->active[r]; }));
  if (was->target.size() == is->target.size())
    keep(differing("target", was->target.size(),
                   [&](std::size_t r) { return was->target[r] != is->target[r]; }));
  else
    apart = was->target.empty() ? "target (NEW)" : "target (OLD)";
  const std::size_t integers = found.size();
  for (const auto& [name, values] : was->values) {
    const std::vector<float>* now = column_of(*is, name);
    if (now == nullptr) {
      apart += (apart.empty() ? "" : ", ") + name + " (OLD)";
      continue;
    }
    const std::vector<float>& old = values;
    keep(differing(name, rows, [&](std::size_t r) { return !same_bits(old[r], (*now)[r]); }));
  }
  for (const auto& [name, values] : is->values)
    if (column_of(*was, name) == nullptr) apart += (apart.empty() ? "" : ", ") + name + " (NEW)";

  std::vector<std::string> texts;
  if (found.empty()) {
    texts.push_back("none: the columns that both have are equal, bit for bit, in all " +
                    std::to_string(rows) + " rows");
  } else {
    std::size_t first = 0;  // smallest row; of one row, the leftmost column
    for (std::size_t i = 1; i < found.size(); ++i)
      if (found[i].first < found[first].first) first = i;
    const std::size_t row = found[first].first;
    const std::string& column = found[first].column;
    texts.push_back("row " + std::to_string(row) + position(before.json, row) + ", column " + column +
                    (was->active[row] ? "" : ", not active") +
                    integer_text("target", was->target, is->target, row) +
                    integer_text("owner TP rank", was->owner, is->owner, row));
    if (first >= integers) {
      const float a = (*column_of(*was, column))[row], b = (*column_of(*is, column))[row];
      texts.push_back("OLD " + value_text(a) + ", NEW " + value_text(b));
      if (std::isfinite(a) && std::isfinite(b))
        texts.push_back("NEW - OLD = " + shown(static_cast<double>(b) - static_cast<double>(a)) + ", " +
                        std::to_string(ulp_distance(a, b)) + " ulp");
    }
    std::string all = "differing rows of " + std::to_string(rows) + ":";
    for (const Difference& one : found)
      all += " " + one.column + " " + std::to_string(one.rows) + " (first " + std::to_string(one.first) +
             ")" + (&one == &found.back() ? "" : ",");
    texts.push_back(all);
  }
  if (!apart.empty()) texts.push_back("columns of one report only: " + apart);
  out.say("first token", texts);
  return out;
}

}  // namespace drift
