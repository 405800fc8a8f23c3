// Opening, reading and re-checking a file; what the corpus cannot hold.

#include "dump/dump_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>

#include "dump/columns.hpp"
#include "scratch.hpp"

namespace drift {
namespace {

const std::string one = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";

Error refused(const Scratch& scratch, const std::string& header, const std::string& data = "") {
  const std::string path = scratch.write_raw("bad", header, data);
  const Error error = error_of([&] { DumpFile::open(path); });
  CHECK(error.fault() == Fault::input);
  return error;
}

TEST_CASE("dump_file: a folder is a usage error, a missing file and a pipe are io errors") {
  const Scratch scratch;
  CHECK(error_of([&] { DumpFile::open(scratch.path()); }).fault() == Fault::usage);
  CHECK(contains(error_of([&] { DumpFile::open(scratch.path()); }).what(), "is a folder"));
  const Error missing = error_of([&] { DumpFile::open(scratch.path("none")); });
  CHECK(missing.fault() == Fault::io);
  CHECK(contains(missing.what(), "No such file or directory"));
  REQUIRE(::mkfifo(scratch.path("pipe").c_str(), 0600) == 0);
  CHECK(error_of([&] { DumpFile::open(scratch.path("pipe")); }).fault() == Fault::io);
}

TEST_CASE("dump_file: names, places, metadata and digest of a good file") {
  const Scratch scratch;
  const std::string header =
      R"({"b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]},"__metadata__":{"k":"v","\u00e9":"\u0000"},)"
      R"("a":{"shape":[],"data_offsets":[0,8],"dtype":"F64"}})";
  const std::string path = scratch.write_raw("good", header, "12345678abc");
  const DumpFile dump = DumpFile::open(path);
  const auto data = static_cast<std::int64_t>(8 + header.size());
  CHECK(dump.path() == path);
  CHECK(dump.bytes() == data + 11);
  REQUIRE(dump.tensors().size() == 2);
  CHECK(dump.tensors()[0].name == "a");  // by offset, not in the header's order
  CHECK(dump.tensors()[0].elements == 1);
  CHECK(dump.tensors()[0].offset == data);
  CHECK(dump.tensors()[1].offset == data + 8);
  CHECK(dump.find("b") == &dump.tensors()[1]);
  CHECK(dump.find("c") == nullptr);
  CHECK(dump.metadata().at("k") == "v");
  CHECK(dump.metadata().at("\xc3\xa9") == std::string(1, '\0'));
  CHECK(dump.warnings().empty());
  const std::uint64_t size = header.size();
  CHECK(dump.header_digest() == digest(std::string(reinterpret_cast<const char*>(&size), 8) + header));

  std::array<char, 4> bytes{};
  dump.read(data + 7, std::as_writable_bytes(std::span(bytes)));
  CHECK(std::string(bytes.data(), 4) == "8abc");
  const Error past = error_of([&] { dump.read(data + 8, std::as_writable_bytes(std::span(bytes))); });
  CHECK(past.fault() == Fault::input);
  CHECK(contains(past.what(), "ends at byte"));
}

TEST_CASE("dump_file: an unknown field of any form is a warning, once a name") {
  const Scratch scratch;
  const std::string header =
      R"({"a":{"x":{"y":[1.5,-2]},"dtype":"F32","shape":[1],"data_offsets":[0,4],"z":null},)"
      R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8],"x":[]}})";
  const DumpFile dump = DumpFile::open(scratch.write_raw("odd", header, "12345678"));
  REQUIRE(dump.warnings().size() == 2);
  CHECK(dump.warnings()[0] == "tensor \"a\" has the unknown field \"x\", as have 1 others; it is not used");
  CHECK(dump.warnings()[1] == "tensor \"a\" has the unknown field \"z\"; it is not used");
}

TEST_CASE("dump_file: what parsers understand differently is refused") {
  const Scratch scratch;
  const auto with_name = [](const std::string& name) {
    return "{\"" + name + R"(":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  };
  CHECK(contains(refused(scratch, with_name(""), "1234").what(), "empty name"));
  CHECK(contains(refused(scratch, with_name(std::string(1025, 'n')), "1234").what(),
                 "1025 bytes, wanted at most 1024"));
  CHECK(contains(refused(scratch, one + std::string(8, '\0'), "1234").what(), "NUL"));
  CHECK(contains(refused(scratch, "", "1234").what(), "header is empty"));
  // Equal after unescaping.
  CHECK(contains(refused(scratch,
                         R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                         R"("\u0061":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                         "12345678")
                     .what(),
                 "stands twice"));
  // Duplicates and depth also where the content is not used.
  const auto unknown = [](const std::string& value) {
    return R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":)" + value + "}}";
  };
  CHECK(contains(refused(scratch, unknown(R"({"y":1,"y":2})"), "1234").what(), "stands twice"));
  CHECK(contains(refused(scratch, unknown("[[[]]]"), "1234").what(), "more than 4 levels"));
  CHECK(contains(refused(scratch, std::string(100000, '[')).what(), "the header is a list"));
  CHECK(contains(refused(scratch, unknown(std::string(100000, '[')), "1234").what(), "more than 4 levels"));
  for (const std::string number : {"01", "+1", "1.0", "1e0", "-1", "-0", "0x1", "1_0", "\"1\"",
                                   "18446744073709551616", "9223372036854775808", "1e400"}) {
    INFO(number);
    refused(scratch, R"({"a":{"dtype":"F32","shape":[)" + number + R"(],"data_offsets":[0,4]}})", "1234");
    refused(scratch, R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,)" + number + "]}}", "1");
  }
  CHECK(contains(refused(scratch, R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}})", "12").what(),
                 "12 bits"));
  CHECK(contains(
      refused(scratch, R"({"a":{"dtype":"F32","shape":[0,4611686018427387904,4],"data_offsets":[0,0]}})")
          .what(),
      "does not fit 64 bits"));
  CHECK(
      contains(refused(scratch, R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,4]}})", "1234").what(),
               "more than 2 numbers"));
  // A message is safe to print and to put into JSON, whatever the name holds.
  CHECK(contains(refused(scratch, with_name("\\u001b[31m"), "1").what(), "\"\\x1b[31m\""));
}

TEST_CASE("dump_file: a dump that changes is noticed") {
  const Scratch scratch;
  const std::string path = scratch.write_raw("d", one, "1234");
  const DumpFile dump = DumpFile::open(path);
  CHECK_NOTHROW(dump.check_unchanged());
  const auto now = std::filesystem::last_write_time(path);

  SECTION("touched") {
    std::filesystem::last_write_time(path, now + std::chrono::nanoseconds(1000));
    CHECK(contains(error_of([&] { dump.check_unchanged(); }).what(), "modification time"));
  }
  SECTION("longer") {
    std::ofstream(path, std::ios::app) << "x";
    CHECK(contains(error_of([&] { dump.check_unchanged(); }).what(), "size"));
  }
  SECTION("replaced by an equal file of the same time") {
    std::filesystem::copy_file(path, scratch.path("other"));
    std::filesystem::rename(scratch.path("other"), path);
    std::filesystem::last_write_time(path, now);
    CHECK(contains(error_of([&] { dump.check_unchanged(); }).what(), "another file"));
  }
  SECTION("removed") {
    std::filesystem::remove(path);
    CHECK(contains(error_of([&] { dump.check_unchanged(); }).what(), "No such file"));
  }
  SECTION("cut short while it is read") {
    std::filesystem::resize_file(path, 8 + one.size() + 1);
    std::array<std::byte, 4> bytes{};
    const Error error = error_of([&] { dump.read(dump.tensors()[0].offset, bytes); });
    CHECK(error.fault() == Fault::input);
    CHECK(contains(error.what(), "when it was opened"));
  }
}

TEST_CASE("dump_file: offsets beyond 2^31 elements and 2^32 bytes are exact") {
  const Scratch scratch;
  // A sparse file: 6.4 GB of BF16 logits, of which a few bytes exist.
  const std::int64_t vocab = 151936, rows = 21000, elements = rows * vocab;
  REQUIRE(elements > (std::int64_t{1} << 31));
  const std::string header = R"({"logits":{"dtype":"BF16","shape":[21000,151936],"data_offsets":[0,)" +
                             std::to_string(elements * 2) + "]}}";
  const std::string path = scratch.write_raw("sparse", header, "");
  const auto data = static_cast<std::int64_t>(8 + header.size());
  REQUIRE(::truncate(path.c_str(), data + elements * 2) == 0);
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(data + ((rows - 1) * vocab + vocab - 2) * 2);
    file.write("\x01\x02\x03\x04", 4);
  }
  const DumpFile dump = DumpFile::open(path);
  CHECK(dump.tensors()[0].elements == elements);
  Roles roles;
  roles.logits = dump.tensors()[0];
  roles.rows = rows;
  roles.padded_vocab = vocab;
  std::array<unsigned char, 8> bytes{};
  const std::array<Range, 1> last{Range{rows - 1, rows}};
  read_logits(dump, roles, last, {vocab - 4, vocab}, 4, std::as_writable_bytes(std::span(bytes)));
  CHECK(bytes == std::array<unsigned char, 8>{0, 0, 0, 0, 1, 2, 3, 4});
}

}  // namespace
}  // namespace drift
