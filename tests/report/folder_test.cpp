// The report folder: never a stale verdict, never somebody else's file.

#include "report/folder.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/error.hpp"
#include "report/to_json.hpp"
#include "sample_reports.hpp"
#include "support/catch.hpp"
#include "temp_folder.hpp"

using namespace drift;
namespace fs = std::filesystem;

namespace {

const std::string id = "0123456789abcdef";

/// A folder as a whole run of that case leaves it, with a temporary file of a killed one.
void fill(const std::string& path) {
  put(path + "/aggregate.json", to_json(samples::passed()));
  put(path + "/rank-0000.json", to_json(samples::rank()));
  put(path + "/rank-0001.json", to_json(samples::rank()));
  put(path + "/rank-12345.json", to_json(samples::rank()));
  put(path + "/tokens.safetensors", "x");
  put(path + "/run.json", "{}");
  put(path + "/.drift-4242-0.tmp", "half a rep");
}

std::vector<std::string> names(const std::string& path) {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(path)) out.push_back(entry.path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

std::string refusal(const std::string& out, bool force = false) {
  try {
    ReportFolder::prepare(out, force, id);
  } catch (const Error& error) {
    CHECK(error.fault() == Fault::io);
    return error.what();
  }
  return "";
}

/// Runs a body in `folder`: the default report folder is relative.
class Inside {
 public:
  explicit Inside(const TempFolder& folder) : before_(fs::current_path()) { fs::current_path(folder.path()); }
  ~Inside() { fs::current_path(before_); }

 private:
  fs::path before_;
};

}  // namespace

TEST_CASE("rank_file_name: four digits, more when needed") {
  CHECK(rank_file_name(0) == "rank-0000.json");
  CHECK(rank_file_name(9999) == "rank-9999.json");
  CHECK(rank_file_name(12345) == "rank-12345.json");
}

TEST_CASE("folder: made with its parents, and reports are written into it") {
  const TempFolder temp;
  const ReportFolder folder = ReportFolder::prepare(temp / "a/b/c", false, id);
  CHECK(folder.path() == temp / "a/b/c");
  CHECK(names(temp / "a/b/c").empty());  // the probe leaves nothing
  folder.write("aggregate.json", "text\n");
  CHECK(content(folder.file("aggregate.json")) == "text\n");
  CHECK(ReportFolder::prepare(temp / "d/", false, id).file("x") == temp / "d/x");
}

TEST_CASE("folder: the default is drift-reports/<case_id> and is used again for the same case") {
  const TempFolder temp;
  const Inside inside(temp);
  CHECK(ReportFolder::prepare("", false, id).path() == "drift-reports/" + id);
  fill("drift-reports/" + id);
  put("drift-reports/" + id + "/notes.txt", "mine");
  ReportFolder::prepare("", false, id);
  CHECK(names("drift-reports/" + id) == std::vector<std::string>{"notes.txt"});
}

TEST_CASE("folder: a default folder without a verdict is used again") {
  const TempFolder temp;
  const Inside inside(temp);
  put("drift-reports/" + id + "/.drift-1-2.tmp", "half");
  put("drift-reports/" + id + "/tokens.safetensors", "x");
  put("drift-reports/" + id + "/aggregate.json", "{ half");
  ReportFolder::prepare("", false, id);
  CHECK(names("drift-reports/" + id).empty());
}

TEST_CASE("folder: a default folder of something else needs --force") {
  const TempFolder temp;
  const Inside inside(temp);
  put("drift-reports/" + id + "/notes.txt", "mine");
  CHECK(refusal("").find("notes.txt") != std::string::npos);
  fs::remove("drift-reports/" + id + "/notes.txt");
  AggregateReport other = samples::passed();
  other.case_id = "ffffffffffffffff";
  put("drift-reports/" + id + "/aggregate.json", to_json(other));
  CHECK(refusal("").find("of case ffffffffffffffff, not " + id) != std::string::npos);
  CHECK(fs::exists("drift-reports/" + id + "/aggregate.json"));
  ReportFolder::prepare("", true, id);
  CHECK(names("drift-reports/" + id).empty());
}

TEST_CASE("folder: an explicit folder that is not empty needs --force, also with the same case") {
  const TempFolder temp;
  fill(temp / "out");
  const auto before = names(temp / "out");
  CHECK(refusal(temp / "out").find("--force") != std::string::npos);
  CHECK(names(temp / "out") == before);
}

TEST_CASE("folder: --force removes reports and nothing else") {
  const TempFolder temp;
  fill(temp / "out");
  for (const char* name : {"rank-1.json", "rank-00x0.json", "rank-0000.json.bak", "aggregate.json~",
                           "my.safetensors", ".drift-a-b.tmp", ".drift-1.tmp", "sub/rank-0000.json"})
    put(temp / ("out/" + std::string(name)), "mine");
  ReportFolder::prepare(temp / "out", true, id);
  CHECK(names(temp / "out") == std::vector<std::string>{".drift-1.tmp", ".drift-a-b.tmp", "aggregate.json~",
                                                        "my.safetensors", "rank-0000.json.bak",
                                                        "rank-00x0.json", "rank-1.json", "sub"});
  CHECK(content(temp / "out/sub/rank-0000.json") == "mine");
}

TEST_CASE("folder: what is no folder is refused") {
  const TempFolder temp;
  put(temp / "file", "mine");
  CHECK(refusal(temp / "file").find("is a file") != std::string::npos);
  CHECK(refusal(temp / "file", true).find("is a file") != std::string::npos);
  CHECK(refusal(temp / "file/below").find("cannot be used") != std::string::npos);
  CHECK(content(temp / "file") == "mine");
  fs::create_directories(temp / "out/aggregate.json");
  CHECK(refusal(temp / "out", true).find("aggregate.json in it is a folder") != std::string::npos);
}

TEST_CASE("folder: a place that cannot be written is refused before anything is computed") {
  if (fs::exists("/proc/self"))
    CHECK(refusal("/proc/drift-reports").find("cannot be used") != std::string::npos);
  if (::geteuid() == 0) {
    WARN("SKIPPED: root may write into a read-only folder");
    return;
  }
  const TempFolder temp;
  fs::create_directory(temp / "closed");
  fs::permissions(temp / "closed", fs::perms::owner_read | fs::perms::owner_exec);
  CHECK(refusal(temp / "closed").find("cannot be used") != std::string::npos);
}

TEST_CASE("folder: a link to a file elsewhere is removed, not followed") {
  const TempFolder temp;
  put(temp / "elsewhere.json", "mine");
  fs::create_directory(temp / "out");
  fs::create_symlink(temp / "elsewhere.json", temp / "out/run.json");
  ReportFolder::prepare(temp / "out", true, id);
  CHECK(names(temp / "out").empty());
  CHECK(content(temp / "elsewhere.json") == "mine");
}
