#include "dump/dump_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/printable.hpp"
#include "dump/header.hpp"
#include "dump/layout.hpp"

namespace drift {

static_assert(std::endian::native == std::endian::little, "safetensors is little-endian and read as it is");

namespace {

/// What tells one version of a file from another.
struct Identity {
  std::int64_t bytes = 0;
  std::int64_t modified_s = 0, modified_ns = 0;
  ino_t inode = 0;
  friend bool operator==(const Identity&, const Identity&) = default;
};

Identity identity(const struct stat& seen) {
  return {seen.st_size, seen.st_mtim.tv_sec, seen.st_mtim.tv_nsec, seen.st_ino};
}

}  // namespace

struct DumpFile::State {
  std::string path;
  int file = -1;
  Identity opened;
  Digest header_digest{};
  Header header;
  std::map<std::string_view, const TensorInfo*> by_name;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (file >= 0) ::close(file);
  }
};

DumpFile::DumpFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
DumpFile::DumpFile(DumpFile&&) noexcept = default;
DumpFile& DumpFile::operator=(DumpFile&&) noexcept = default;
DumpFile::~DumpFile() = default;

DumpFile DumpFile::open(const std::string& path) {
  const std::string shown = escaped(path);
  auto state = std::make_unique<State>();
  state->path = path;
  // O_NONBLOCK: a named pipe must be refused below, not waited for.
  do state->file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  while (state->file < 0 && errno == EINTR);
  if (state->file < 0) throw Error(Fault::io, shown + ": cannot be opened: " + std::strerror(errno));
  struct stat seen {};
  if (::fstat(state->file, &seen) != 0) throw Error(Fault::io, shown + ": " + std::strerror(errno));
  if (S_ISDIR(seen.st_mode))
    throw Error(Fault::usage,
                shown + ": is a folder, wanted one safetensors file (give the file's own path)");
  if (!S_ISREG(seen.st_mode))
    throw Error(Fault::io, shown + ": is not a regular file (it is read at offsets, by several ranks)");
  state->opened = identity(seen);

  DumpFile dump(std::move(state));
  State& s = *dump.state_;
  const auto size = static_cast<std::uint64_t>(s.opened.bytes);
  const auto refuse = [&](const std::string& why) { throw Error(Fault::input, shown + ": " + why); };
  if (size < 8)
    refuse("the file has " + std::to_string(size) + " bytes, wanted at least the 8 of the header's length");
  std::uint64_t length = 0;
  dump.read(0, std::as_writable_bytes(std::span(&length, 1)));
  if (length > header_limit)
    refuse("the header's length is " + std::to_string(length) + " bytes, wanted at most " +
           std::to_string(header_limit) + " (is this a safetensors file?)");
  if (length > size - 8)
    refuse("the header's length is " + std::to_string(length) + " bytes, but only " +
           std::to_string(size - 8) + " follow (cut short, or not a safetensors file)");

  std::string head(8 + length, '\0');
  dump.read(0, std::as_writable_bytes(std::span(head)));
  s.header_digest = digest(head);
  s.header = parse_header(shown, std::string_view(head).substr(8));
  const auto data = static_cast<std::int64_t>(8 + length);
  check_layout(shown, s.header.tensors, s.opened.bytes - data);
  for (TensorInfo& tensor : s.header.tensors) {
    tensor.offset += data;
    s.by_name.emplace(tensor.name, &tensor);
  }
  return dump;
}

const std::string& DumpFile::path() const { return state_->path; }
std::string DumpFile::shown_path() const { return escaped(state_->path); }
std::int64_t DumpFile::bytes() const { return state_->opened.bytes; }
const Digest& DumpFile::header_digest() const { return state_->header_digest; }
const std::vector<TensorInfo>& DumpFile::tensors() const { return state_->header.tensors; }
const std::map<std::string, std::string>& DumpFile::metadata() const { return state_->header.metadata; }
const std::vector<std::string>& DumpFile::warnings() const { return state_->header.warnings; }

const TensorInfo* DumpFile::find(std::string_view name) const {
  const auto at = state_->by_name.find(name);
  return at == state_->by_name.end() ? nullptr : at->second;
}

void DumpFile::read(std::int64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(state_->file, out.data(), out.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      throw Error(Fault::io, shown_path() + ": cannot be read at byte " + std::to_string(offset) + ": " +
                                 std::strerror(errno));
    if (got == 0)
      throw Error(Fault::input, shown_path() + ": ends at byte " + std::to_string(offset) + " while " +
                                    std::to_string(out.size()) + " more bytes are wanted (it had " +
                                    std::to_string(bytes()) + " when it was opened)");
    offset += got;
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

void DumpFile::check_unchanged() const {
  const auto changed = [&](const std::string& how) {
    throw Error(
        Fault::input,
        shown_path() + ": changed during the run (the numbers may come from two versions of it): " + how);
  };
  struct stat seen {};
  // By path, not by descriptor: a dump that was replaced is not the one that a second run would read.
  if (::stat(path().c_str(), &seen) != 0) changed(std::strerror(errno));
  const Identity now = identity(seen), &then = state_->opened;
  if (now.bytes != then.bytes)
    changed("size " + std::to_string(now.bytes) + ", was " + std::to_string(then.bytes));
  if (now.inode != then.inode) changed("another file has taken its place");
  if (now != then) changed("its modification time differs");
}

}  // namespace drift
