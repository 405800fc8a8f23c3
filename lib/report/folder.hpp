#pragma once

// The folder that a run's reports go to: claimed before anything is computed, so that a bad --out costs
// nothing, and emptied of an older run's verdict, so that a run that dies never leaves one behind.

#include <string>
#include <utility>

namespace drift {

/// "rank-0003.json".
std::string rank_file_name(int rank);

class ReportFolder {
 public:
  /// Make `out` ready, with its parents, and prove by a probe that it can be written. Older reports in it are
  /// removed, aggregate.json first; other files are never touched.
  ///
  /// `out` empty: drift-reports/<case_id>, used again if what it holds are reports of that case and nothing
  /// else says otherwise. `out` given: must be empty or not there, unless `force`. Throws Fault::io.
  static ReportFolder prepare(const std::string& out, bool force, const std::string& case_id);

  /// Where `prepare` would make it.
  static std::string place(const std::string& out, const std::string& case_id);
  /// A folder that another rank has prepared. Throws nothing; writing may.
  static ReportFolder prepared(std::string path) { return ReportFolder(std::move(path)); }

  /// Does `path` hold the aggregate of a failed run of this case? Throws nothing.
  static bool holds_failure(const std::string& path, const std::string& case_id);

  const std::string& path() const { return path_; }  ///< as given
  std::string file(const std::string& name) const;
  /// Write a file durably. Throws Fault::io.
  void write(const std::string& name, const std::string& text) const;

 private:
  explicit ReportFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace drift
