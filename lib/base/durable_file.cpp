#include "base/durable_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"

namespace drift {
namespace {

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// What a file without a name is linked from.
std::string in_proc(int file) { return "/proc/self/fd/" + std::to_string(file); }

/// A file in `folder` that has no name; -1 where that, or naming it later, is not possible.
int open_nameless(const std::string& folder) {
  const int file = ::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  if (file < 0 || ::access(in_proc(file).c_str(), F_OK) == 0) return file;
  ::close(file);
  return -1;
}

/// Other processes, also on other hosts, may write beside us: `take` must fail with EEXIST for a name in use.
template <class Take>
std::string free_name(const std::string& folder, Take take) {
  for (int attempt = 0; attempt < 10000; ++attempt) {
    std::string name =
        folder + "/.drift-" + std::to_string(::getpid()) + "-" + std::to_string(attempt) + ".tmp";
    if (take(name.c_str())) return name;
    if (errno != EEXIST && errno != EINTR) break;
  }
  return "";
}

}  // namespace

DurableFile::DurableFile(const std::string& path) : path_(path), folder_(folder_of(path)) {
  struct stat there {};
  if (::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode))
    fail("it exists and is not a regular file");
  file_ = open_nameless(folder_);
  if (file_ < 0) open_temporary();
}

void DurableFile::open_temporary() {
  temporary_ = free_name(folder_, [&](const char* name) {
    file_ = ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return file_ >= 0;
  });
  const int error = errno;
  if (file_ < 0) fail("creating a file in " + escaped(folder_), error);
}

DurableFile::~DurableFile() {
  if (file_ >= 0) ::close(file_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void DurableFile::need(std::int64_t bytes) const {
  struct statvfs seen {};
  if (::fstatvfs(file_, &seen) != 0 || seen.f_blocks == 0) return;  // a file system that does not tell
  const auto free = checked_mul(seen.f_bavail, seen.f_frsize);
  if (!free || *free >= static_cast<std::uint64_t>(bytes)) return;
  fail("the disk of " + escaped(folder_) + " is too small for it: seen " + std::to_string(*free) +
       " bytes free, wanted " + std::to_string(bytes));
}

void DurableFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("writing", errno);
    if (written == 0) fail("writing: the file takes no more bytes, and no reason is given");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

/// Into the place of an older file only rename can put one, and that takes a name.
void DurableFile::give_name() {
  const std::string from = in_proc(file_);
  const auto link_to = [&](const char* name) {
    return ::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
  };
  if (link_to(path_.c_str())) return;
  if (errno != EEXIST) fail("naming it", errno);
  temporary_ = free_name(folder_, link_to);
  const int error = errno;
  if (temporary_.empty()) fail("naming it in " + escaped(folder_), error);
}

void DurableFile::commit() {
  if (::fsync(file_) != 0) fail("fsync", errno);
  if (temporary_.empty()) give_name();
  const int closed = ::close(file_);  // network file systems report a late write error here
  file_ = -1;
  if (closed != 0 && errno != EINTR) fail("closing", errno);
  if (!temporary_.empty() && ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    fail("renaming " + escaped(temporary_), error);
  }
  temporary_.clear();
  const int folder = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int unopened = errno;
  if (folder < 0) fail("opening the folder " + escaped(folder_), unopened);
  const int synced = ::fsync(folder), error = errno;
  ::close(folder);
  // Some file systems have no fsync for folders and say so with EINVAL.
  if (synced != 0 && error != EINVAL) fail("fsync of the folder " + escaped(folder_), error);
}

void DurableFile::fail(const std::string& why) const {
  throw Error(Fault::io, escaped(path_) + ": cannot be written: " + why);
}

void DurableFile::fail(const std::string& doing, int error) const {
  fail(doing + ": " + std::strerror(error));
}

void write_durably(const std::string& path, std::span<const std::byte> bytes) {
  DurableFile file(path);
  file.write(bytes);
  file.commit();
}

void write_durably(const std::string& path, std::string_view text) {
  write_durably(path, std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace drift
