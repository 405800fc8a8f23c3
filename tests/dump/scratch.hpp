#pragma once

// A folder for one test's files, and files made of a header text and data.

#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "support/catch.hpp"

namespace drift {

class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "drift-dump-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    folder_ = pattern;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string path(const std::string& name = "") const {
    return name.empty() ? folder_ : folder_ + "/" + name;
  }

  std::string write(const std::string& name, std::string_view bytes) const {
    std::ofstream out(path(name), std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    REQUIRE(out.good());
    return path(name);
  }

  /// A safetensors file of exactly this header and data.
  std::string write_raw(const std::string& name, std::string_view header, std::string_view data) const {
    const std::uint64_t size = header.size();
    std::string bytes(reinterpret_cast<const char*>(&size), 8);
    return write(name, bytes.append(header).append(data));
  }

  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

 private:
  std::string folder_;
};

/// The Error that `action` throws; fails the test if it throws none.
template <class Action>
Error error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  FAIL("wanted an error, seen none");
  throw 0;  // not reached
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace drift
