#pragma once

// One safetensors file: a strict header reader and pread. Bytes out, no arithmetic.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/digest.hpp"
#include "base/dtype.hpp"

namespace drift {

struct TensorInfo {
  std::string name;
  Dtype dtype = Dtype::F32;
  std::vector<std::int64_t> shape;
  std::int64_t elements = 0;  ///< product of the shape
  std::int64_t offset = 0;    ///< of the first byte in the file
  std::int64_t bytes = 0;
};

/// An open dump. The file may be read by several threads at once.
class DumpFile {
 public:
  /// Open and check everything that can be checked without reading tensor data.
  /// Throws Fault::usage if `path` is a folder, Fault::io if it is missing or unreadable, Fault::input if it
  /// is malformed.
  static DumpFile open(const std::string& path);
  DumpFile(DumpFile&&) noexcept;
  DumpFile& operator=(DumpFile&&) noexcept;
  ~DumpFile();

  const std::string& path() const;                             ///< as given
  std::string shown_path() const;                              ///< for messages: control characters escaped
  std::int64_t bytes() const;                                  ///< size of the file
  const Digest& header_digest() const;                         ///< of the first 8 + N bytes
  const std::vector<TensorInfo>& tensors() const;              ///< by offset
  const std::map<std::string, std::string>& metadata() const;  ///< __metadata__
  const std::vector<std::string>& warnings() const;            ///< what is legal but odd
  const TensorInfo* find(std::string_view name) const;         ///< nullptr if absent

  /// Fill `out` from file offset `offset`. Throws Fault::io on a read error, Fault::input if the file ends
  /// early.
  void read(std::int64_t offset, std::span<std::byte> out) const;
  /// Throws Fault::input if size, modification time or inode differ from when the file was opened.
  void check_unchanged() const;

 private:
  struct State;
  explicit DumpFile(std::unique_ptr<State>);
  std::unique_ptr<State> state_;
};

}  // namespace drift
