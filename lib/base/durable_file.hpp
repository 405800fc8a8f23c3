#pragma once

// Files that are either whole or not there: temporary name, checked writes, fsync, rename, fsync of the
// folder.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace drift {

/// A file being written under a temporary name in the folder of `path`. Without commit() nothing remains of
/// it. Every member throws Fault::io with the system's reason.
class DurableFile {
 public:
  explicit DurableFile(const std::string& path);
  DurableFile(const DurableFile&) = delete;
  DurableFile& operator=(const DurableFile&) = delete;
  ~DurableFile();

  void write(std::span<const std::byte> bytes);
  /// Make it durable under its own name, replacing a regular file of that name.
  void commit();

 private:
  [[noreturn]] void fail(const std::string& doing, int error) const;

  std::string path_, folder_, temporary_;
  int file_ = -1;
};

/// All of it or nothing, also after a power cut. Throws Fault::io.
void write_durably(const std::string& path, std::span<const std::byte> bytes);
void write_durably(const std::string& path, std::string_view text);

}  // namespace drift
