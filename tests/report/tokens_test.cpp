// tokens.safetensors: what is written is read back, bit for bit.

#include "report/tokens.hpp"

#include <bit>
#include <limits>

#include "base/error.hpp"
#include "dump/dump_file.hpp"
#include "dump/dump_writer.hpp"
#include "support/catch.hpp"
#include "temp_folder.hpp"

using namespace drift;

namespace {

const std::vector<std::uint8_t> active{0, 1, 1};
const std::vector<std::int64_t> target{-1, 7, 151'668};
const std::vector<std::int32_t> owner{-1, 0, 3};
const std::vector<float> lse{1.5f, std::bit_cast<float>(0x7fc00000u), -0.0f};
const std::vector<float> logp{-1.0f, -2.0f, std::numeric_limits<float>::denorm_min()};

std::vector<std::uint32_t> bits(const std::vector<float>& values) {
  std::vector<std::uint32_t> out;
  for (const float value : values) out.push_back(std::bit_cast<std::uint32_t>(value));
  return out;
}

TokenColumns columns() {
  return {active, target, owner, {{"oracle_lse", lse}, {"oracle_logp", logp}, {"fixed-tree_lse", lse}}};
}

Fault fault_of(const std::string& path) {
  try {
    read_tokens(path);
  } catch (const Error& error) {
    return error.fault();
  }
  return Fault::internal;
}

}  // namespace

TEST_CASE("tokens: what was written is read back, bit for bit and in order") {
  const TempFolder folder;
  write_tokens(folder / "t.safetensors", columns());
  const TokenTable table = read_tokens(folder / "t.safetensors");
  CHECK(table.active == active);
  CHECK(table.target == target);
  CHECK(table.owner == owner);
  REQUIRE(table.values.size() == 3);
  CHECK(table.values[0].first == "oracle_lse");
  CHECK(table.values[1].first == "oracle_logp");
  CHECK(table.values[2].first == "fixed-tree_lse");
  CHECK(bits(table.values[0].second) == bits(lse));
  CHECK(bits(table.values[1].second) == bits(logp));
}

TEST_CASE("tokens: an ordinary dump with row numbers and a mask of booleans") {
  const TempFolder folder;
  write_tokens(folder / "t.safetensors", columns());
  const DumpFile file = DumpFile::open(folder / "t.safetensors");
  REQUIRE(file.find("row") != nullptr);
  CHECK(file.find("row")->dtype == Dtype::I64);
  CHECK(file.find("active")->dtype == Dtype::BOOL);
  CHECK(file.find("target")->dtype == Dtype::I64);
  CHECK(file.find("owner")->dtype == Dtype::I32);
  std::vector<std::int64_t> row(3);
  file.read(file.find("row")->offset, std::as_writable_bytes(std::span(row)));
  CHECK(row == std::vector<std::int64_t>{0, 1, 2});
}

TEST_CASE("tokens: targets and owners are optional, each for itself") {
  const TempFolder folder;
  TokenColumns without = columns();
  without.target = {};
  write_tokens(folder / "t", without);
  CHECK(DumpFile::open(folder / "t").find("target") == nullptr);
  CHECK(read_tokens(folder / "t").target.empty());
  CHECK(read_tokens(folder / "t").owner == owner);
  without.owner = {};
  without.values.emplace_back("target", logp);  // the name stays taken: readers may not mistake it
  write_tokens(folder / "u", without);
  const TokenTable table = read_tokens(folder / "u");
  CHECK(table.owner.empty());
  CHECK(table.target.empty());
  CHECK(table.active == active);
  REQUIRE(table.values.size() == 4);
  CHECK(table.values[3].first == "recorded.target");
}

TEST_CASE("tokens: the same columns give the same bytes") {
  const TempFolder folder;
  write_tokens(folder / "a", columns());
  write_tokens(folder / "b", columns());
  CHECK(content(folder / "a") == content(folder / "b"));
}

TEST_CASE("tokens: a recorded tensor with a name that is taken gets another") {
  const TempFolder folder;
  TokenColumns with = columns();
  with.values.emplace_back("oracle_logp", lse);
  with.values.emplace_back("target", logp);
  write_tokens(folder / "t", with);
  const TokenTable table = read_tokens(folder / "t");
  REQUIRE(table.values.size() == 5);
  CHECK(table.values[3].first == "recorded.oracle_logp");
  CHECK(table.values[4].first == "recorded.target");
  CHECK(bits(table.values[4].second) == bits(logp));
}

TEST_CASE("tokens: columns of different lengths are a broken invariant") {
  const TempFolder folder;
  const std::vector<float> two{1, 2};
  TokenColumns with = columns();
  with.values.emplace_back("short", two);
  CHECK_THROWS_AS(write_tokens(folder / "t", with), Error);
  CHECK_FALSE(std::filesystem::exists(folder / "t"));
}

TEST_CASE("tokens: other files are refused by who has to act") {
  const TempFolder folder;
  CHECK(fault_of(folder / "missing") == Fault::io);
  put(folder / "text", "not a dump at all");
  CHECK(fault_of(folder / "text") == Fault::input);
  write_dump(folder / "other",
             std::vector<TensorData>{{"x", Dtype::F32, {3}, std::as_bytes(std::span(lse))}});
  CHECK(fault_of(folder / "other") == Fault::input);
  write_dump(folder / "floats",
             std::vector<TensorData>{{"active", Dtype::F32, {3}, std::as_bytes(std::span(lse))}});
  CHECK(fault_of(folder / "floats") == Fault::input);
  write_dump(folder / "scalar",
             std::vector<TensorData>{{"active", Dtype::F32, {}, std::as_bytes(std::span(lse)).first(4)}});
  CHECK(fault_of(folder / "scalar") == Fault::input);
}
