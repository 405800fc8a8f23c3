// Reads an aggregate report back, and refuses what `compare` could not read on: reports get edited and cut.

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.hpp"
#include "report/compare_parts.hpp"

namespace drift {
namespace {

/// A value of a report, by name. Every question about its form throws Fault::input if the answer is no.
class Place {
 public:
  Place(const std::string& file, std::string name, const Json& json)
      : file_(file), name_(std::move(name)), json_(json) {}

  void whole() const { expect(json_.is_number_unsigned(), "a whole number"); }
  void number() const { expect(number_of(json_).has_value(), "a number"); }
  void text() const { expect(json_.is_string(), "text"); }
  void flag() const { expect(json_.is_boolean(), "true or false"); }
  void object() const { expect(json_.is_object(), "an object"); }
  void list() const { expect(json_.is_array(), "a list"); }

  bool has(const char* key) const { return json_.is_object() && json_.contains(key); }

  Place at(const char* key) const {
    object();
    const auto found = json_.find(key);
    if (found == json_.end()) refuse(named(key) + " is missing");
    return {file_, named(key), *found};
  }

  template <class Check>
  void each(Check check) const {
    list();
    for (std::size_t i = 0; i < json_.size(); ++i)
      check(Place(file_, name_ + "[" + std::to_string(i) + "]", json_[i]));
  }

  template <class Check>
  void each_key(Check check) const {
    object();
    for (const auto& [key, value] : json_.items()) check(Place(file_, named(key), value));
  }

  void one_of(std::initializer_list<const char*> words) const {
    std::string wanted;
    for (const char* word : words) {
      if (json_ == word) return;
      wanted += (wanted.empty() ? "" : ", ") + std::string(word);
    }
    expect(false, "one of " + wanted);
  }

 private:
  std::string named(const std::string& key) const { return name_.empty() ? key : name_ + "." + key; }

  void expect(bool holds, const std::string& wanted) const {
    if (holds) return;
    constexpr std::size_t longest = 60;
    std::string seen = shown(&json_);
    if (seen.size() > longest) seen = seen.substr(0, longest) + "...";
    refuse((name_.empty() ? "the report" : name_) + " is not " + wanted + ", seen " + seen);
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(Fault::input, file_ + " is not a report as this tool writes it (edited or cut?): " + what);
  }

  const std::string& file_;
  std::string name_;
  const Json& json_;
};

void check_stats(const Place& stats) {
  for (const char* key : {"count", "nonfinite", "mismatch_count"}) stats.at(key).whole();
  for (const char* key : {"max_abs", "mean_abs"}) stats.at(key).number();
}

void check_digests(const Place& digests) {
  for (const char* key : {"lse", "logp"}) digests.at(key).text();
}

void check_candidate(const Place& candidate) {
  candidate.at("formula").text();
  for (const char* key : {"lse", "logp"}) check_stats(candidate.at("drift").at(key));
  check_digests(candidate.at("digests"));
}

void check_recorded(const Place& recorded) {
  recorded.at("name").text();
  recorded.at("digest").text();
  recorded.at("vs").each_key([](const Place& compared) { check_stats(compared.at("drift")); });
}

void check_pair(const Place& pair) {
  for (const char* key : {"name", "a", "b"}) pair.at(key).text();
  pair.at("permuted").flag();
  check_stats(pair.at("drift"));
}

void check_rejected(const Place& rejected) {
  for (const char* key : {"formula", "reason"}) rejected.at(key).text();
}

void check_gate(const Place& gate) {
  for (const char* key : {"name", "from"}) gate.at(key).text();
  for (const char* key : {"value", "limit"}) gate.at(key).number();
  gate.at("rows_over").whole();
  gate.at("passed").flag();
}

void check_input(const Place& input) {
  input.at("files").list();
  for (const char* key : {"rows", "active_rows"}) input.at(key).whole();
  const auto check_tensor = [](const Place& tensor) {
    tensor.at("shape").each([](const Place& size) { size.whole(); });
  };
  for (const char* key : {"logits", "targets"})
    if (input.has(key)) check_tensor(input.at(key));
  for (const char* key : {"mask", "temperature"})
    if (input.has(key)) input.at(key).object();
}

/// Everything that `compare` reads, and nothing else: reports of later minor versions may hold more.
void check_form(const Place& report, bool failed) {
  report.at("exit_code").whole();
  report.at("case").at("formula").each([](const Place& id) { id.text(); });
  for (const char* key : {"versions", "variables"}) report.at("environment").at(key).object();
  if (failed)
    for (const char* key : {"phase", "message"}) report.at("error").at(key).text();
  // A failed run stops somewhere: what it did not reach is absent.
  const auto reached = [&](const char* key) { return !failed || report.has(key); };
  if (reached("input")) check_input(report.at("input"));
  // Nor is there anything to compute where the dump has no logits: pairs stand alone.
  const bool pairs_alone = report.has("pairs") && report.has("input") && !report.at("input").has("logits");
  const auto computed = [&](const char* key) { return (reached(key) && !pairs_alone) || report.has(key); };
  if (computed("oracle")) check_digests(report.at("oracle").at("digests"));
  if (computed("candidates")) report.at("candidates").each(check_candidate);
  if (computed("rejected")) report.at("rejected").each(check_rejected);
  if (reached("recorded")) report.at("recorded").each(check_recorded);
  if (report.has("pairs")) report.at("pairs").each(check_pair);
  if (reached("gates")) report.at("gates").each(check_gate);
}

}  // namespace

StoredReport read_report(const std::string& aggregate_path) {
  std::ifstream in(aggregate_path, std::ios::binary);
  require(in.is_open(), Fault::io, aggregate_path + " cannot be read: " + std::strerror(errno));
  const std::string text(std::istreambuf_iterator<char>(in), {});
  require(!in.bad(), Fault::io, aggregate_path + " cannot be read: a read failed");
  StoredReport out;
  out.path = aggregate_path;
  out.folder = std::filesystem::path(aggregate_path).parent_path().string();
  out.json = Json::parse(text, nullptr, false);
  require(out.json.is_object(), Fault::input, aggregate_path + " is not a report: it is no JSON object");
  const std::string schema = shown(value_at(out.json, {"schema", "name"}));
  const std::string version = shown(value_at(out.json, {"schema", "version"}));
  require(schema == "\"drift-audit/aggregate\"" && version.starts_with("\"1."), Fault::input,
          aggregate_path + " is not a report that this version reads, seen schema " + schema + " " + version +
              ", wanted \"drift-audit/aggregate\" \"1.x\"");
  const Place report(out.path, "", out.json);
  report.at("status").one_of({"pass", "drift", "failed"});
  check_form(report, out.json["status"] == "failed");
  return out;
}

}  // namespace drift
