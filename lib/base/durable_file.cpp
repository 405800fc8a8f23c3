#include "base/durable_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace drift {
namespace {

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

DurableFile::DurableFile(const std::string& path) : path_(path), folder_(folder_of(path)) {
  struct stat there {};
  if (::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode))
    throw Error(Fault::io, path + ": cannot be written: it exists and is not a regular file");
  // Other processes, also on other hosts, may write beside us: O_EXCL decides who owns a name.
  for (int attempt = 0; attempt < 10000 && file_ < 0; ++attempt) {
    temporary_ = folder_ + "/.drift-" + std::to_string(::getpid()) + "-" + std::to_string(attempt) + ".tmp";
    file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file_ < 0 && errno != EEXIST && errno != EINTR) break;
  }
  if (file_ < 0) {
    const int error = errno;
    temporary_.clear();
    fail("creating a file in " + folder_, error);
  }
}

DurableFile::~DurableFile() {
  if (file_ >= 0) ::close(file_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void DurableFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("writing", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void DurableFile::commit() {
  if (::fsync(file_) != 0) fail("fsync", errno);
  const int closed = ::close(file_);  // network file systems report a late write error here
  file_ = -1;
  if (closed != 0 && errno != EINTR) fail("closing", errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("renaming " + temporary_, errno);
  temporary_.clear();
  const int folder = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) fail("opening the folder " + folder_, errno);
  const int synced = ::fsync(folder), error = errno;
  ::close(folder);
  // Some file systems have no fsync for folders and say so with EINVAL.
  if (synced != 0 && error != EINVAL) fail("fsync of the folder " + folder_, error);
}

void DurableFile::fail(const std::string& doing, int error) const {
  throw Error(Fault::io, path_ + ": cannot be written: " + doing + ": " + std::strerror(error));
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
