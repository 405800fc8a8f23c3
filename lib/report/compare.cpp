#include "report/compare.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "base/error.hpp"
#include "base/printable.hpp"
#include "report/compare_parts.hpp"

namespace drift {
namespace fs = std::filesystem;
namespace {

enum class Verdict { same, better, worse };

const char* name(Verdict verdict) {
  return verdict == Verdict::worse ? "worse" : verdict == Verdict::better ? "better" : "same";
}

constexpr const char* rule =
    "rule: worse = the status fell (pass, drift, failed); a gate now fails or is no longer checked; a "
    "recorded tensor, a\n      pair, or a formula that NEW asks for, is no longer compared; on the same "
    "inputs, max_abs "
    "or the number of non-finite\n      rows of a quantity grew, fewer rows were compared, or a pair became "
    "a permutation. "
    "better = one of these the other way, and\n      nothing worse. NaN is larger than any number; limits of "
    "a formula that "
    "NEW does not ask for may go.";

struct PairResult {
  std::string text;
  Verdict verdict = Verdict::same;
};

PairResult compare_pair(const StoredReport& before, const StoredReport& after) {
  Findings all;
  all.add(compare_status(before.json, after.json));
  bool same_inputs = false;
  all.add(compare_inputs(before.json, after.json, same_inputs));
  all.add(compare_settings(before.json, after.json));
  all.add(compare_values(before.json, after.json, same_inputs));
  all.add(compare_gates(before.json, after.json));
  all.add(compare_tokens(before, after));
  PairResult out;
  out.verdict = !all.worse.empty() ? Verdict::worse : !all.better.empty() ? Verdict::better : Verdict::same;
  const auto say = [&](const std::string& line) { out.text += escaped(line) + "\n"; };  // names hold anything
  say("OLD " + before.path);
  say("NEW " + after.path);
  for (const std::string& line : all.lines) say(line);
  say(std::string("verdict        ") + name(out.verdict));
  for (const std::string& reason : all.worse) say("  worse:  " + reason);
  for (const std::string& reason : all.better) say("  better: " + reason);
  return out;
}

/// Report folders inside `path`, by name; "" is `path` itself.
std::map<std::string, std::string> reports_in(const std::string& path) {
  std::error_code error;
  const fs::file_status there = fs::status(path, error);
  require(fs::exists(there), Fault::io,
          path + " cannot be read: " + (error ? error.message() : std::string(std::strerror(ENOENT))));
  if (!fs::is_directory(there)) return {{"", path}};
  if (fs::exists(path + "/aggregate.json", error)) return {{"", path + "/aggregate.json"}};
  std::map<std::string, std::string> out;
  fs::directory_iterator at(path, error), end;
  for (; !error && at != end; at.increment(error)) {
    std::error_code ignored;  // what cannot be looked into is no report folder
    const std::string aggregate = at->path().string() + "/aggregate.json";
    if (fs::exists(aggregate, ignored)) out[at->path().filename().string()] = aggregate;
  }
  require(!error, Fault::io, path + " cannot be read: " + error.message());
  require(!out.empty(), Fault::io,
          path +
              " holds no aggregate.json and no folder with one (a run that died leaves none): nothing to "
              "compare");
  return out;
}

CompareResult compare_sets(const std::map<std::string, std::string>& before,
                           const std::map<std::string, std::string>& after) {
  std::set<std::string> names;
  for (const auto& [name, path] : before) names.insert(name);
  for (const auto& [name, path] : after) names.insert(name);
  std::string text, table;
  int exit_code = 0;
  bool paired = false;
  for (const std::string& one : names) {
    std::string verdict;
    if (!after.contains(one)) {
      verdict = "worse: no report in NEW";
      exit_code = 1;
    } else if (!before.contains(one)) {
      verdict = "only in NEW";
    } else {
      const PairResult pair = compare_pair(read_report(before.at(one)), read_report(after.at(one)));
      text += pair.text + "\n";
      verdict = name(pair.verdict);
      if (pair.verdict == Verdict::worse) exit_code = 1;
      paired = true;
    }
    table += "  " + escaped(one) + "  " + verdict + "\n";
  }
  require(paired, Fault::usage, "no report folder of OLD has a namesake in NEW: nothing to compare");
  return {text + "all reports\n" + table + rule + "\n", exit_code};
}

}  // namespace

CompareResult compare_reports(const std::string& old_path, const std::string& new_path) {
  const auto before = reports_in(old_path), after = reports_in(new_path);
  const bool one_before = before.contains(""), one_after = after.contains("");
  require(one_before == one_after, Fault::usage,
          "a report cannot be compared with a folder of reports, seen " +
              (one_before ? old_path + " and the folder of reports " + new_path
                          : "the folder of reports " + old_path + " and " + new_path));
  if (!one_before) return compare_sets(before, after);
  const PairResult pair = compare_pair(read_report(before.at("")), read_report(after.at("")));
  return {pair.text + rule + "\n", pair.verdict == Verdict::worse ? 1 : 0};
}

}  // namespace drift
