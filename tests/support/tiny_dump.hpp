#pragma once

// Small dumps from literal numbers.

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "base/float16.hpp"
#include "dump/dump_writer.hpp"

namespace drift::test {

/// Tensors are added one by one and written at once.
class TinyDump {
 public:
  template <class T>
  TinyDump& add(const std::string& name, Dtype dtype, std::vector<std::int64_t> shape,
                const std::vector<T>& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(T));
    if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    tensors_.push_back({name, dtype, std::move(shape), std::move(bytes)});
    return *this;
  }
  TinyDump& f32(const std::string& name, std::vector<std::int64_t> shape, const std::vector<float>& values) {
    return add(name, Dtype::F32, std::move(shape), values);
  }
  TinyDump& bf16(const std::string& name, std::vector<std::int64_t> shape, const std::vector<float>& values) {
    std::vector<std::uint16_t> bits;
    for (const float value : values) bits.push_back(round_bf16(value));
    return add(name, Dtype::BF16, std::move(shape), bits);
  }
  TinyDump& i64(const std::string& name, std::vector<std::int64_t> shape,
                const std::vector<std::int64_t>& values) {
    return add(name, Dtype::I64, std::move(shape), values);
  }
  TinyDump& mask(const std::string& name, std::vector<std::int64_t> shape,
                 const std::vector<std::uint8_t>& values) {
    return add(name, Dtype::BOOL, std::move(shape), values);
  }
  TinyDump& meta(const std::string& key, const std::string& value) {
    metadata_[key] = value;
    return *this;
  }

  const std::string& write(const std::string& path) {
    std::vector<TensorData> views;
    for (const Tensor& tensor : tensors_)
      views.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.bytes});
    write_dump(path_ = path, views, metadata_);
    return path_;
  }

 private:
  struct Tensor {
    std::string name;
    Dtype dtype;
    std::vector<std::int64_t> shape;
    std::vector<std::byte> bytes;
  };
  std::vector<Tensor> tensors_;
  std::map<std::string, std::string> metadata_;
  std::string path_;
};

}  // namespace drift::test
