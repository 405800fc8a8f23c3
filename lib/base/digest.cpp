#include "base/digest.hpp"

#include <algorithm>

#include <xxhash.h>  // XXH_INLINE_ALL is set for this file in CMakeLists.txt: nothing to link

namespace drift {
namespace {

Digest canonical(XXH128_hash_t hash) {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, hash);
  Digest out;
  std::copy(std::begin(bytes.digest), std::end(bytes.digest), out.begin());
  return out;
}

}  // namespace

Digest digest(std::span<const std::byte> bytes) { return canonical(XXH3_128bits(bytes.data(), bytes.size())); }
Digest digest(std::string_view text) { return canonical(XXH3_128bits(text.data(), text.size())); }

std::string hex(const Digest& digest) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : digest) {
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

struct Digester::State {
  XXH3_state_t hash;
};

Digester::Digester() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->hash); }
Digester::~Digester() = default;
Digester::Digester(Digester&&) noexcept = default;
Digester& Digester::operator=(Digester&&) noexcept = default;
void Digester::update(std::span<const std::byte> bytes) {
  XXH3_128bits_update(&state_->hash, bytes.data(), bytes.size());
}
Digest Digester::finish() const { return canonical(XXH3_128bits_digest(&state_->hash)); }

}  // namespace drift
