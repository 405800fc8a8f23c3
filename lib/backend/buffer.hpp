#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace drift {

/// Bytes in some backend's memory. Move-only; frees itself.
class Buffer {
 public:
  using Free = std::function<void(std::byte*)>;  ///< must not throw; may hold on to the heap it frees into

  Buffer() = default;
  Buffer(std::byte* data, std::int64_t bytes, Free free) : data_(data, std::move(free)), bytes_(bytes) {}

  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  std::int64_t bytes() const { return bytes_; }
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(data_.get());
  }
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(data_.get());
  }

 private:
  std::unique_ptr<std::byte, Free> data_{nullptr, [](std::byte*) noexcept {}};
  std::int64_t bytes_ = 0;
};

}  // namespace drift
