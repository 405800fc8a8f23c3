#include "report/gate.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>

#include "base/error.hpp"

namespace drift {
namespace {

/// Reads an expression from left to right; every refusal says where.
class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {}

  std::vector<std::string> path() {
    skip_blanks();
    std::vector<std::string> keys;
    while (true) {
      if (next() == '[')
        keys.push_back(bracketed());
      else
        keys.push_back(plain_key());
      if (next() == '.')
        ++at_;
      else if (next() != '[')
        return keys;
    }
  }

  Relation relation() {
    skip_blanks();
    struct Spelling {
      std::string_view text;
      Relation relation;
    };
    constexpr Spelling spellings[]{{"==", Relation::equal},   {"!=", Relation::not_equal},
                                   {"<=", Relation::at_most}, {">=", Relation::at_least},
                                   {"<", Relation::less},     {">", Relation::greater}};
    for (const auto& [spelling, relation] : spellings) {
      if (text_.compare(at_, spelling.size(), spelling) != 0) continue;
      at_ += spelling.size();
      return relation;
    }
    refuse("a comparison, one of == != < <= > >=");
  }

  double number() {
    skip_blanks();
    const char* begin = text_.data() + at_;
    const char* end = text_.data() + text_.size();
    double value = 0;
    const char* digits = begin != end && *begin == '+' ? begin + 1 : begin;
    const auto [stop, error] = std::from_chars(digits, end, value);
    const bool two_signs = digits != begin && digits != end && *digits == '-';
    if (error != std::errc() || std::isnan(value) || two_signs) refuse("a number, e.g. 0 or 1e-5");
    at_ += static_cast<std::size_t>(stop - begin);
    skip_blanks();
    if (at_ != text_.size()) refuse("the end of the expression");
    return value;
  }

 private:
  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skip_blanks() {
    while (next() == ' ' || next() == '\t') ++at_;
  }

  std::string plain_key() {
    const std::size_t end = std::min(text_.find_first_of(".[]\"=!<> \t", at_), text_.size());
    if (end == at_) refuse("a key");
    std::string key = text_.substr(at_, end - at_);
    at_ = end;
    return key;
  }

  std::string bracketed() {
    ++at_;
    std::string key;
    if (next() == '"') {
      for (++at_; next() != '"'; ++at_) {
        if (next() == '\\') ++at_;
        if (at_ >= text_.size()) refuse("a closing \"");
        key += text_[at_];
      }
      ++at_;
    } else {
      while (next() >= '0' && next() <= '9') key += text_[at_++];
      if (key.empty()) refuse("an index or a name in \"quotes\"");
    }
    if (next() != ']') refuse("a closing ]");
    ++at_;
    return key;
  }

  [[noreturn]] void refuse(const std::string& wanted) const {
    const std::string seen = at_ < text_.size() ? "'" + text_.substr(at_) + "'" : "its end";
    throw Error(Fault::usage, "--gate '" + text_ + "' is not of the form 'PATH OP NUMBER': at character " +
                                  std::to_string(at_ + 1) + " seen " + seen + ", wanted " + wanted);
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

/// Whether a key of a path means the `index`-th object of a list, called `name`. Digits alone are an index,
/// as in ReportValues.
bool selects(const std::string& key, std::size_t index, const std::string& name) {
  std::size_t at = 0;
  const auto [stop, error] = std::from_chars(key.data(), key.data() + key.size(), at);
  const bool by_index = error == std::errc() && stop == key.data() + key.size();
  return by_index ? at == index : key == name;
}

bool holds(double value, Relation relation, double limit) {
  if (std::isnan(value)) return false;
  switch (relation) {
    case Relation::equal: return value == limit;
    case Relation::not_equal: return value != limit;
    case Relation::less: return value < limit;
    case Relation::at_most: return value <= limit;
    case Relation::greater: return value > limit;
    case Relation::at_least: return value >= limit;
  }
  return false;
}

}  // namespace

Gate parse_gate(const std::string& text) {
  Reader reader(text);
  Gate gate;
  gate.text = text;
  gate.path = reader.path();
  gate.relation = reader.relation();
  gate.limit = reader.number();
  return gate;
}

bool is_expression(const GateReport& gate) {
  return gate.from == "option" && gate.name.find_first_of("=<>") != std::string::npos;
}

bool is_about(const Gate& gate, std::size_t index, const std::string& name, const std::string& reference) {
  const std::vector<std::string>& path = gate.path;
  return path.size() >= 4 && path[0] == "recorded" && path[2] == "vs" && path[3] == reference &&
         selects(path[1], index, name);
}

bool is_about_pair(const Gate& gate, std::size_t index, const std::string& name) {
  return gate.path.size() >= 2 && gate.path[0] == "pairs" && selects(gate.path[1], index, name);
}

GateReport evaluate(const Gate& gate, const ReportValues& values) {
  GateReport out;
  out.name = gate.text;
  out.limit = gate.limit;
  out.value = values.number(gate.path, gate.text);
  out.rows_over = values.left_out(gate.path);
  out.passed = out.rows_over == 0 && holds(out.value, gate.relation, gate.limit);
  out.from = "option";
  return out;
}

}  // namespace drift
