#pragma once

// Writes safetensors files: durable, with headers that every reader understands in the same way.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.hpp"
#include "base/durable_file.hpp"

namespace drift {

struct TensorSpec {
  std::string name;
  Dtype dtype = Dtype::F32;
  std::vector<std::int64_t> shape;
};

struct TensorData {
  std::string name;
  Dtype dtype = Dtype::F32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

using Metadata = std::map<std::string, std::string>;

/// A dump written piece by piece: the data of all tensors one after another, in the order of `tensors`.
/// Without commit() nothing remains. Throws Fault::io on a write error, Fault::internal on amounts that are
/// wrong and names that stand twice, Fault::input on names that a strict reader refuses.
class DumpWriter {
 public:
  DumpWriter(const std::string& path, std::span<const TensorSpec> tensors, const Metadata& metadata);
  void append(std::span<const std::byte> bytes);
  void commit();

 private:
  DurableFile file_;
  std::int64_t missing_ = 0;  ///< bytes still to come
};

/// All at once; data is laid out by descending element size, so that every tensor is aligned.
void write_dump(const std::string& path, std::span<const TensorData> tensors, const Metadata& metadata = {});

}  // namespace drift
