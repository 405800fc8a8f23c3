#pragma once

// Files that are either whole or not there: no name or a temporary one, checked writes, fsync, rename, fsync
// of the folder.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace drift {

/// A file being written in the folder of `path`, without a name where the file system can do that, so that
/// not even a process that is killed leaves anything; else under a temporary name. Without commit() nothing
/// remains of it. Every member throws Fault::io with the system's reason.
class DurableFile {
 public:
  explicit DurableFile(const std::string& path);
  DurableFile(const DurableFile&) = delete;
  DurableFile& operator=(const DurableFile&) = delete;
  ~DurableFile();

  /// Throws unless the file system says that `bytes` are free: a large file should not fail when it is half
  /// written, and take the disk from others until then.
  void need(std::int64_t bytes) const;
  void write(std::span<const std::byte> bytes);
  /// Make it durable under its own name, replacing a regular file of that name.
  void commit();

 private:
  void open_temporary();
  void give_name();
  [[noreturn]] void fail(const std::string& why) const;
  [[noreturn]] void fail(const std::string& doing, int error) const;

  std::string path_, folder_;
  std::string temporary_;  ///< "": the file has no name yet, or its own
  int file_ = -1;
};

/// All of it or nothing, also after a power cut. Throws Fault::io.
void write_durably(const std::string& path, std::span<const std::byte> bytes);
void write_durably(const std::string& path, std::string_view text);

}  // namespace drift
