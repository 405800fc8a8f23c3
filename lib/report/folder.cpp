#include "report/folder.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>
#include <vector>

#include "base/durable_file.hpp"
#include "base/error.hpp"
#include "report/number.hpp"

namespace drift {
namespace fs = std::filesystem;
namespace {

bool all_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
}

bool between(std::string_view name, std::string_view prefix, std::string_view suffix,
             std::string_view& middle) {
  if (name.size() < prefix.size() + suffix.size() || !name.starts_with(prefix) || !name.ends_with(suffix))
    return false;
  middle = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  return true;
}

/// What a run writes, or left behind under a temporary name when it was killed.
bool is_ours(std::string_view name) {
  std::string_view middle;
  for (const char* whole : {"aggregate.json", "explain.json", "run.json", "tokens.safetensors"})
    if (name == whole) return true;
  if (between(name, "rank-", ".json", middle)) return middle.size() >= 4 && all_digits(middle);
  if (!between(name, ".drift-", ".tmp", middle)) return false;
  const std::size_t dash = middle.find('-');
  return dash != std::string_view::npos && all_digits(middle.substr(0, dash)) &&
         all_digits(middle.substr(dash + 1));
}

[[noreturn]] void fail(const std::string& path, const std::string& doing, const std::error_code& error) {
  throw Error(Fault::io, "--out " + path + " cannot be used: " + doing + ": " + error.message());
}

std::vector<std::string> names_in(const std::string& path) {
  std::error_code error;
  std::vector<std::string> names;
  fs::directory_iterator at(path, error), end;
  if (error) fail(path, "listing it", error);
  while (at != end) {
    names.push_back(at->path().filename().string());
    at.increment(error);
    if (error) fail(path, "listing it", error);
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// The case whose report `file` is; nothing if it is no whole report.
std::optional<std::string> case_id_in(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  const Json json = Json::parse(text.str(), nullptr, false);
  if (!json.is_object() || !json.contains("case_id") || !json["case_id"].is_string()) return std::nullopt;
  return json["case_id"].get<std::string>();
}

/// Why the default folder, which holds `names`, is not this case's; "" if it is.
std::string why_foreign(const std::string& path, const std::vector<std::string>& names,
                        const std::string& case_id) {
  bool same_case = false;
  for (const std::string& name : names) {
    if (!is_ours(name) || !name.ends_with(".json") || name == "run.json") continue;
    const auto found = case_id_in(path + "/" + name);
    if (found && *found != case_id) return name + " in it is of case " + *found + ", not " + case_id;
    same_case = same_case || found.has_value();
  }
  if (same_case) return "";
  for (const std::string& name : names)
    if (!is_ours(name)) return "it holds no report of case " + case_id + " but other files, e.g. " + name;
  return "";
}

void remove_reports(const std::string& path, std::vector<std::string> names) {
  std::stable_partition(names.begin(), names.end(),
                        [](const auto& name) { return name == "aggregate.json" || name == "explain.json"; });
  for (const std::string& name : names) {
    if (!is_ours(name)) continue;
    std::error_code error;
    if (fs::is_directory(fs::symlink_status(path + "/" + name, error)))
      throw Error(Fault::io, "--out " + path + " cannot be used: " + name +
                                 " in it is a folder, wanted a file or nothing");
    fs::remove(path + "/" + name, error);
    if (error) fail(path, "removing " + name + " of an older run", error);
  }
}

/// Prove that bytes can be written now, not after hours of computing.
void probe(const std::string& path) {
  try {
    DurableFile file(path + "/aggregate.json");
    const char bytes[64] = {};
    file.write(std::as_bytes(std::span(bytes)));
  } catch (const Error& error) {
    throw Error(Fault::io, "--out " + path + " cannot be used: " + error.what());
  }
}

}  // namespace

std::string rank_file_name(int rank) {
  const std::string digits = std::to_string(rank);
  return "rank-" + std::string(digits.size() < 4 ? 4 - digits.size() : 0, '0') + digits + ".json";
}

std::string ReportFolder::place(const std::string& out, const std::string& case_id) {
  return out.empty() ? "drift-reports/" + case_id : out;
}

bool ReportFolder::holds_failure(const std::string& path, const std::string& case_id) {
  for (const char* name : {"/aggregate.json", "/explain.json"}) {
    std::ifstream in(path + name, std::ios::binary);
    const Json json = Json::parse(in, nullptr, false);
    if (json.is_object() && json.value("case_id", Json()) == case_id &&
        json.value("status", Json()) == "failed")
      return true;
  }
  return false;
}

ReportFolder ReportFolder::prepare(const std::string& out, bool force, const std::string& case_id) {
  const std::string path = place(out, case_id);
  std::error_code error;
  const fs::file_status there = fs::status(path, error);
  error.clear();  // what keeps it from being seen keeps it from being made
  if (fs::exists(there) && !fs::is_directory(there))
    throw Error(Fault::io, "--out " + path + " is a file, wanted a folder or a new name");
  if (!fs::exists(there)) fs::create_directories(path, error);
  if (error) fail(path, "creating it", error);
  const std::vector<std::string> names = names_in(path);
  if (!force && !names.empty()) {
    if (!out.empty())
      throw Error(Fault::io, "--out " + path + " is not empty (older reports in it would be lost), seen " +
                                 names.front() + "; --force replaces the reports and leaves other files");
    const std::string why = why_foreign(path, names, case_id);
    if (!why.empty())
      throw Error(Fault::io,
                  "the report folder " + path + " cannot be used: " + why + "; --force replaces the reports");
  }
  remove_reports(path, names);
  probe(path);
  return ReportFolder(path);
}

std::string ReportFolder::file(const std::string& name) const {
  return path_.ends_with('/') ? path_ + name : path_ + "/" + name;
}

void ReportFolder::write(const std::string& name, const std::string& text) const {
  write_durably(file(name), text);
}

}  // namespace drift
