#include "dump/header.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/error.hpp"
#include "dump/layout.hpp"
#include "dump/text.hpp"

namespace drift {
namespace {

constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();

/// A JSON value that is neither object nor list.
struct Scalar {
  enum Kind { null, boolean, digits, number, text } kind = null;
  std::string as_text;
  std::uint64_t as_number = 0;

  std::string described() const {
    switch (kind) {
      case null: return "null";
      case text: return "the text " + in_quotes(as_text);
      default: return printable(as_text);
    }
  }
};

/// Builds a Header from SAX events. One class on purpose: what may stand where, and the sentence for what may
/// not. A method that returns false stops the parse; `problem` then says why.
class HeaderSax final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Header header;
  std::string problem;

  bool null() override { return scalar({Scalar::null, "null"}); }
  bool boolean(bool value) override { return scalar({Scalar::boolean, value ? "true" : "false"}); }
  // Only what has a minus sign arrives here, "-0" among it.
  bool number_integer(number_integer_t value) override {
    return scalar({Scalar::number, value == 0 ? "-0" : std::to_string(value)});
  }
  bool number_unsigned(number_unsigned_t value) override {
    return scalar({Scalar::digits, std::to_string(value), value});
  }
  bool number_float(number_float_t, const string_t& token) override {
    return scalar({Scalar::number, token});
  }
  bool string(string_t& value) override { return scalar({Scalar::text, value}); }
  bool binary(binary_t&) override { return fail("binary data in the header"); }

  bool start_object(std::size_t) override {
    if (!deeper()) return false;
    keys_.emplace_back();
    switch (place_) {
      case Place::top: place_ = Place::root; return true;
      case Place::root:
        if (key_ == "__metadata__") {
          place_ = Place::metadata;
        } else {
          if (!good_name()) return false;
          tensor_ = {};
          tensor_.name = key_;
          dtype_.reset();
          seen_shape_ = false;
          offsets_.clear();
          place_ = Place::info;
        }
        return true;
      case Place::info:
        if (known(field_)) return wrong("an object");
        return unknown_field();
      case Place::unknown: return true;
      default: return wrong("an object");
    }
  }

  bool start_array(std::size_t) override {
    if (!deeper()) return false;
    switch (place_) {
      case Place::info:
        if (field_ == "shape") {
          place_ = Place::shape;
          seen_shape_ = true;
          return true;
        }
        if (field_ == "data_offsets") {
          place_ = Place::offsets;
          return true;
        }
        if (known(field_)) return wrong("a list");
        return unknown_field();
      case Place::unknown: return true;
      default: return wrong("a list");
    }
  }

  bool key(string_t& value) override {
    if (!keys_.back().insert(value).second)
      return fail("the key " + in_quotes(value) + " stands twice in " +
                  (place_ == Place::root       ? "the header"
                   : place_ == Place::metadata ? "__metadata__"
                                               : "tensor " + in_quotes(tensor_.name)) +
                  " (readers differ in which one they take)");
    (place_ == Place::info ? field_ : key_) = value;
    return true;
  }

  bool end_object() override {
    --depth_;
    keys_.pop_back();
    switch (place_) {
      case Place::root: place_ = Place::top; return true;
      case Place::metadata: place_ = Place::root; return true;
      case Place::info: place_ = Place::root; return finish_tensor();
      default: return leave_unknown();
    }
  }

  bool end_array() override {
    --depth_;
    if (place_ == Place::offsets && offsets_.size() != 2)
      return fail_tensor("data_offsets has " + std::to_string(offsets_.size()) +
                         " numbers, wanted 2: begin, end");
    if (place_ == Place::unknown) return leave_unknown();
    place_ = Place::info;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    std::string reason = error.what();  // "[json.exception.X.N] parse error at line L, column C: REASON"
    if (const auto end = reason.find("] "); end != std::string::npos) reason.erase(0, end + 2);
    if (reason.starts_with("parse error"))
      if (const auto end = reason.find(": "); end != std::string::npos) reason.erase(0, end + 2);
    std::string shown;  // the whole reason, 80 safe bytes at a time
    for (std::size_t i = 0; i < reason.size(); i += 64)
      shown += printable(std::string_view(reason).substr(i, 64));
    return fail("the header is not valid JSON at its byte " + std::to_string(position) + ": " + shown);
  }

  void finish() {
    for (const auto& [field, first, times] : unknown_)
      header.warnings.push_back("tensor " + in_quotes(first) + " has the unknown field " + in_quotes(field) +
                                (times > 1 ? ", as have " + std::to_string(times - 1) + " others" : "") +
                                "; it is not used");
  }

 private:
  enum class Place { top, root, info, shape, offsets, metadata, unknown };
  struct Unknown {
    std::string field, first;
    std::int64_t times;
  };

  static bool known(const std::string& field) {
    return field == "dtype" || field == "shape" || field == "data_offsets";
  }

  bool fail(const std::string& why) {
    problem = why;
    return false;
  }
  bool fail_tensor(const std::string& why) { return fail("tensor " + in_quotes(tensor_.name) + ": " + why); }

  bool deeper() {
    if (++depth_ > depth_limit)
      return fail("the header nests more than " + std::to_string(depth_limit) + " levels deep");
    return true;
  }

  /// What stands here has a type that does not belong here.
  bool wrong(const std::string& seen) {
    switch (place_) {
      case Place::top: return fail("the header is " + seen + ", wanted a JSON object {\"name\": {...}, ...}");
      case Place::root:
        if (key_ == "__metadata__") return fail("__metadata__ is " + seen + ", wanted an object of texts");
        return fail("tensor " + in_quotes(key_) + " is " + seen +
                    ", wanted an object {dtype, shape, data_offsets}");
      case Place::metadata:
        return fail("__metadata__: " + in_quotes(key_) + " is " + seen +
                    ", wanted a text (all metadata values are)");
      case Place::info:
        return fail_tensor(field_ + " is " + seen + ", wanted " +
                           (field_ == "dtype"   ? "a text such as \"BF16\""
                            : field_ == "shape" ? "a list of whole numbers"
                                                : "a list of two whole numbers"));
      case Place::shape: return fail_tensor("a dimension of its shape is " + seen + ", wanted plain digits");
      case Place::offsets: return fail_tensor("one of its data_offsets is " + seen + ", wanted plain digits");
      case Place::unknown: break;
    }
    return true;
  }

  bool good_name() {
    if (key_.empty()) return fail("a tensor has an empty name");
    if (key_.find('\0') != std::string::npos)
      return fail("tensor " + in_quotes(key_) + ": its name holds a NUL character (readers cut it there)");
    if (key_.size() > name_limit)
      return fail("tensor " + in_quotes(key_) + ": its name has " + std::to_string(key_.size()) +
                  " bytes, wanted at most " + std::to_string(name_limit));
    return true;
  }

  bool unknown_field() {
    note_unknown();
    place_ = Place::unknown;
    return true;
  }
  void note_unknown() {
    const auto same =
        std::find_if(unknown_.begin(), unknown_.end(), [&](const Unknown& u) { return u.field == field_; });
    if (same != unknown_.end()) {
      ++same->times;
    } else if (unknown_.size() < 20) {
      unknown_.push_back({field_, tensor_.name, 1});
    }
  }
  bool leave_unknown() {
    if (depth_ == 2) place_ = Place::info;
    return true;
  }

  bool scalar(const Scalar& value) {
    switch (place_) {
      case Place::root:
        if (key_ != "__metadata__" || value.kind != Scalar::null) return wrong(value.described());
        header.warnings.push_back("__metadata__ is null; it is read as empty");
        return true;
      case Place::metadata:
        if (value.kind != Scalar::text) return wrong(value.described());
        header.metadata.emplace(key_, value.as_text);
        return true;
      case Place::info:
        if (!known(field_)) {
          note_unknown();
          return true;
        }
        if (field_ != "dtype" || value.kind != Scalar::text) return wrong(value.described());
        dtype_ = dtype_named(value.as_text);
        if (!dtype_)
          return fail_tensor("dtype is " + in_quotes(value.as_text) + ", wanted one of " + dtype_list());
        return true;
      case Place::shape:
      case Place::offsets: return number(value);
      case Place::unknown: return true;
      default: return wrong(value.described());
    }
  }

  bool number(const Scalar& value) {
    if (value.kind != Scalar::digits) return wrong(value.described());
    if (value.as_number > largest)
      return fail_tensor(
          std::string(place_ == Place::shape ? "a dimension of its shape" : "one of its data_offsets") +
          " is " + value.as_text + ", wanted at most 2^63 - 1");
    if (place_ == Place::offsets) {
      if (offsets_.size() == 2) return fail_tensor("data_offsets has more than 2 numbers, wanted begin, end");
      offsets_.push_back(value.as_number);
      return true;
    }
    if (tensor_.shape.size() == rank_limit)
      return fail_tensor("its shape has more than " + std::to_string(rank_limit) + " dimensions");
    tensor_.shape.push_back(static_cast<std::int64_t>(value.as_number));
    return true;
  }

  bool finish_tensor() {
    for (const auto& [there, field] :
         {std::pair{dtype_.has_value(), "dtype"}, std::pair{seen_shape_, "shape"},
          std::pair{offsets_.size() == 2, "data_offsets"}})
      if (!there) return fail_tensor(std::string("has no field \"") + field + "\"");
    if (header.tensors.size() == tensor_limit)
      return fail("the header has more than " + std::to_string(tensor_limit) + " tensors");
    tensor_.dtype = *dtype_;
    if (const std::string why = place_tensor(tensor_, offsets_[0], offsets_[1]); !why.empty())
      return fail_tensor(why);
    header.tensors.push_back(tensor_);
    return true;
  }

  static std::string dtype_list() {
    std::string out;
    for (int i = 0; i <= static_cast<int>(Dtype::U64); ++i)
      out += (i == 0 ? "" : " ") + std::string(name(static_cast<Dtype>(i)));
    return out;
  }

  Place place_ = Place::top;
  int depth_ = 0;
  std::vector<std::unordered_set<std::string>> keys_;  ///< of the open objects, outermost first
  std::string key_, field_;                            ///< last key of root or __metadata__, of a tensor
  TensorInfo tensor_;
  std::optional<Dtype> dtype_;
  bool seen_shape_ = false;
  std::vector<std::uint64_t> offsets_;
  std::vector<Unknown> unknown_;
};

}  // namespace

Header parse_header(const std::string& path, std::string_view text) {
  const auto refuse = [&](const std::string& why) { throw Error(Fault::input, path + ": " + why); };
  // nlohmann skips a byte order mark and takes a NUL for the end of the text; neither may pass.
  if (text.starts_with("\xef\xbb\xbf")) refuse("the header starts with a byte order mark, wanted '{'");
  if (const auto nul = text.find('\0'); nul != std::string_view::npos)
    refuse("the header holds a NUL at its byte " + std::to_string(nul) + " (pad headers with spaces)");
  if (text.empty()) refuse("the header is empty, wanted a JSON object");

  HeaderSax sax;
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &sax, nlohmann::json::input_format_t::json, true,
                                 false))
    refuse(sax.problem);
  sax.finish();
  if (text.front() != '{')
    sax.header.warnings.insert(sax.header.warnings.begin(),
                               "the header starts with white space; older readers refuse that");
  return std::move(sax.header);
}

}  // namespace drift
