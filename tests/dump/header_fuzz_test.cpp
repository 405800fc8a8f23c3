// A valid header, mutated by structure and by bytes: never a crash, never an accepted file that breaks an
// invariant.

#include <cstring>
#include <random>
#include <set>

#include "dump/dump_file.hpp"
#include "scratch.hpp"

namespace drift {
namespace {

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t n) { return n == 0 ? 0 : random() % n; }

/// JSON pieces: punctuation, strings with their quotes, numbers and words.
std::vector<std::string> tokens(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    if (text[i] == '"') {
      while (text[end] != '"') ++end;
      ++end;
    } else if (std::isalnum(static_cast<unsigned char>(text[i]))) {
      while (std::isalnum(static_cast<unsigned char>(text[end]))) ++end;
    }
    out.push_back(text.substr(i, end - i));
    i = end;
  }
  return out;
}

// clang-format off
const std::vector<std::string> replacements{
    "0", "1", "2", "3", "4", "8", "-0", "-1", "1.0", "4e0", "01", "9223372036854775807",
    "9223372036854775808", "18446744073709551616", "4294967296", "4611686018427387904", "null", "true",
    "NaN", "\"\"", "\"a\"", "\"b\"", "\"\\u0061\"", "\"a\\u0000\"", "\"dtype\"", "\"shape\"",
    "\"data_offsets\"", "\"__metadata__\"", "\"F32\"", "\"F64\"", "\"BF16\"", "\"F4\"", "\"F6_E2M3\"",
    "\"U8\"", "\"\xff\"", "{", "}", "[", "]", ",", ":", "{}", "[]", "[[]]", " ", "\n", std::string(1, '\0'),
    "\xef\xbb\xbf", "//", "[0,4]", "[4,8]", "\"x\":1,", "\"x\":{\"y\":[]},",
};
// clang-format on

std::string mutated(Random& random, const std::string& valid) {
  std::vector<std::string> parts = tokens(valid);
  for (std::size_t n = 1 + below(random, 2); n > 0; --n) {
    const std::size_t at = below(random, parts.size()), other = below(random, parts.size());
    switch (below(random, 8)) {
      case 0: parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at)); break;
      case 1: parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(at), parts[other]); break;
      case 2: std::swap(parts[at], parts[other]); break;
      case 3: parts[at] = replacements[below(random, replacements.size())]; break;
      case 4: parts[at] += replacements[below(random, replacements.size())]; break;
      case 5: parts[at].insert(0, " "); break;  // these two are often harmless
      case 6:
        if (parts[at].starts_with('"')) parts[at].insert(1, "z");
        break;
      default:
        if (!parts[at].empty())
          parts[at][below(random, parts[at].size())] ^= static_cast<char>(1 << below(random, 8));
    }
    if (parts.empty()) break;
  }
  std::string out;
  for (const std::string& part : parts) out += part;
  return out;
}

/// Checked without the reader's own helpers, in 128 bits.
void check_invariants(const DumpFile& dump, std::int64_t data_begin) {
  std::int64_t end = data_begin;
  std::set<std::string> names;
  for (const TensorInfo& tensor : dump.tensors()) {
    CHECK(names.insert(tensor.name).second);
    CHECK(!tensor.name.empty());
    CHECK(tensor.name.size() <= 1024);
    CHECK(tensor.name.find('\0') == std::string::npos);
    CHECK(tensor.name != "__metadata__");
    CHECK(tensor.shape.size() <= 8);
    __extension__ unsigned __int128 elements = 1;
    for (const std::int64_t size : tensor.shape) {
      CHECK(size >= 0);
      elements *= static_cast<std::uint64_t>(size);
    }
    CHECK(static_cast<std::int64_t>(elements) == tensor.elements);
    CHECK(elements * static_cast<unsigned>(bits(tensor.dtype)) ==
          static_cast<unsigned long long>(tensor.bytes) * 8ull);
    CHECK(tensor.offset == end);
    end += tensor.bytes;
  }
  CHECK(end == dump.bytes());
}

TEST_CASE("header: 2000 mutations never crash and never pass with broken invariants") {
  const Scratch scratch;
  const std::string valid =
      R"({"__metadata__":{"temperature":"0.7","a":"b"},"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
      R"("b":{"dtype":"BF16","shape":[2,3],"data_offsets":[8,20]},)"
      R"("c":{"dtype":"I64","shape":[],"data_offsets":[20,28]},)"
      R"("d":{"dtype":"F4","shape":[8],"data_offsets":[28,32]},"e":{"dtype":"U8","shape":[0],"data_offsets":[32,32]}})";
  const std::string data(32, '\x01');
  REQUIRE_NOTHROW(DumpFile::open(scratch.write_raw("valid", valid, data)));
  Random random(20240607);
  int accepted = 0, refused = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::string header = mutated(random, valid);
    std::string bytes(8, '\0');
    std::uint64_t size = header.size();
    if (below(random, 20) == 0) size += below(random, 80) - 40;
    std::memcpy(bytes.data(), &size, 8);
    bytes += header;
    bytes += below(random, 20) == 0 ? data.substr(0, below(random, 33)) : data;
    const std::string path = scratch.write("mutant", bytes);
    INFO("mutation " << i << ": " << header);
    try {
      const DumpFile dump = DumpFile::open(path);
      ++accepted;
      check_invariants(dump, static_cast<std::int64_t>(8 + size));
    } catch (const Error& error) {
      ++refused;
      CHECK(error.fault() == Fault::input);
      CHECK(std::string_view(error.what()).starts_with(path + ": "));
    }
  }
  // Both happen often enough for the test to mean something.
  CHECK(accepted > 100);
  CHECK(refused > 1000);
}

}  // namespace
}  // namespace drift
