#pragma once

// Trivially copyable values and arrays of them, packed into bytes and taken out in the same order: what ranks
// send to rank 0.

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.hpp"

namespace drift {

class ParcelWriter {
 public:
  template <class T>
  void put(const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::size_t count = values.size(), at = bytes_.size();
    bytes_.resize(at + sizeof count + count * sizeof(T));
    std::memcpy(bytes_.data() + at, &count, sizeof count);
    if (count) std::memcpy(bytes_.data() + at + sizeof count, values.data(), count * sizeof(T));
  }
  template <class T>
  void put_value(const T& value) {
    put(std::vector<T>{value});
  }
  void put_text(const std::string& text) { put(std::vector<char>(text.begin(), text.end())); }

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

class ParcelReader {
 public:
  explicit ParcelReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  bool empty() const { return rest_.empty(); }

  template <class T>
  std::vector<T> take() {
    static_assert(std::is_trivially_copyable_v<T>);
    std::size_t count = 0;
    copy(&count, sizeof count);
    require(count <= rest_.size() / sizeof(T), Fault::comm, "a rank's parcel is shorter than it says");
    std::vector<T> out(count);
    copy(out.data(), count * sizeof(T));
    return out;
  }
  template <class T>
  T take_value() {
    const std::vector<T> one = take<T>();
    require(one.size() == 1, Fault::comm,
            "a rank's parcel holds " + std::to_string(one.size()) + " values, wanted one");
    return one[0];
  }
  std::string take_text() {
    const std::vector<char> text = take<char>();
    return {text.begin(), text.end()};
  }

 private:
  void copy(void* to, std::size_t bytes) {
    require(bytes <= rest_.size(), Fault::comm, "a rank's parcel is shorter than it says");
    if (bytes) std::memcpy(to, rest_.data(), bytes);
    rest_ = rest_.subspan(bytes);
  }

  std::span<const std::byte> rest_;
};

}  // namespace drift
