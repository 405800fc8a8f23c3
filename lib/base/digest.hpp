#pragma once

// xxh3-128 of bytes: the project's only hash. Digests travel as 32 lower-case hex digits, high half first.

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace drift {

using Digest = std::array<unsigned char, 16>;  ///< canonical (big-endian) bytes of an XXH128 hash

Digest digest(std::span<const std::byte> bytes);
Digest digest(std::string_view text);
std::string hex(const Digest&);

/// A digest fed in pieces; the pieces' boundaries do not matter.
class Digester {
 public:
  Digester();
  ~Digester();
  Digester(Digester&&) noexcept;
  Digester& operator=(Digester&&) noexcept;
  void update(std::span<const std::byte> bytes);
  Digest finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace drift
