// Small tensors and blocks of logits, also from data that is not aligned.

#include "dump/columns.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "dump/dump_writer.hpp"
#include "scratch.hpp"

namespace drift {
namespace {

template <class Value>
DumpFile holding(const Scratch& scratch, Dtype dtype, const std::vector<Value>& values) {
  const std::array<TensorData, 1> tensors{
      TensorData{"t", dtype, {static_cast<std::int64_t>(values.size())}, std::as_bytes(std::span(values))}};
  write_dump(scratch.path("d"), tensors);
  return DumpFile::open(scratch.path("d"));
}

template <class Value>
std::vector<std::uint8_t> mask_of(Dtype dtype, const std::vector<Value>& values) {
  const Scratch scratch;
  const DumpFile dump = holding(scratch, dtype, values);
  return read_mask(dump, dump.tensors()[0]);
}

TEST_CASE("columns: masks of every type, and the first value that is neither 0 nor 1") {
  const std::vector<std::uint8_t> wanted{1, 0, 1};
  CHECK(mask_of<std::uint8_t>(Dtype::BOOL, {1, 0, 1}) == wanted);
  CHECK(mask_of<std::uint8_t>(Dtype::U8, {1, 0, 1}) == wanted);
  CHECK(mask_of<std::int8_t>(Dtype::I8, {1, 0, 1}) == wanted);
  CHECK(mask_of<std::int16_t>(Dtype::I16, {1, 0, 1}) == wanted);
  CHECK(mask_of<std::uint16_t>(Dtype::U16, {1, 0, 1}) == wanted);
  CHECK(mask_of<std::int32_t>(Dtype::I32, {1, 0, 1}) == wanted);
  CHECK(mask_of<std::uint32_t>(Dtype::U32, {1, 0, 1}) == wanted);
  CHECK(mask_of<std::int64_t>(Dtype::I64, {1, 0, 1}) == wanted);
  CHECK(mask_of<std::uint64_t>(Dtype::U64, {1, 0, 1}) == wanted);
  CHECK(mask_of<std::uint16_t>(Dtype::BF16, {0x3f80, 0x8000, 0x3f80}) == wanted);  // -0.0 is 0
  CHECK(mask_of<std::uint16_t>(Dtype::F16, {0x3c00, 0, 0x3c00}) == wanted);
  CHECK(mask_of<float>(Dtype::F32, {1, 0, 1}) == wanted);
  CHECK(mask_of<double>(Dtype::F64, {1, -0.0, 1}) == wanted);

  const auto refusal = [](auto dtype, auto values) {
    const Error error = error_of([&] { mask_of(dtype, values); });
    CHECK(error.fault() == Fault::input);
    return std::string(error.what());
  };
  CHECK(contains(refusal(Dtype::BOOL, std::vector<std::uint8_t>{1, 0, 2}),
                 "BOOL [3]: element 2 is 2, wanted 0 or 1"));
  CHECK(contains(refusal(Dtype::I64, std::vector<std::int64_t>{1, -1}), "element 1 is -1"));
  CHECK(contains(refusal(Dtype::F32, std::vector<float>{0.5f}), "element 0 is 0.5"));
  CHECK(contains(refusal(Dtype::F32, std::vector<float>{std::nanf("")}), "nan"));
  CHECK(
      contains(refusal(Dtype::F64, std::vector<double>{std::nextafter(1.0, 2.0)}), "is 1.0000000000000002,"));
  CHECK(contains(refusal(Dtype::U64, std::vector<std::uint64_t>{1ull << 63}), "element 0"));
  CHECK(contains(refusal(Dtype::F8_E4M3, std::vector<std::uint8_t>{0}), "wanted BOOL"));
}

TEST_CASE("columns: the corpus' BOOL of value 2 is a good file and a bad mask") {
  const DumpFile dump = DumpFile::open(DRIFT_SOURCE_DIR "/tests/data/safetensors/bool_value_2.safetensors");
  CHECK(error_of([&] { read_mask(dump, dump.tensors()[0]); }).fault() == Fault::input);
}

TEST_CASE("columns: integers and floats keep their values") {
  const Scratch scratch;
  const DumpFile i32 = holding<std::int32_t>(scratch, Dtype::I32, {-100, 2147483647});
  CHECK(read_integers(i32, i32.tensors()[0]) == std::vector<std::int64_t>{-100, 2147483647});
  const DumpFile u32 = holding<std::uint32_t>(scratch, Dtype::U32, {4294967295u, 0});
  CHECK(read_integers(u32, u32.tensors()[0]) == std::vector<std::int64_t>{4294967295, 0});
  const DumpFile i64 = holding<std::int64_t>(scratch, Dtype::I64, {INT64_MIN, 7});
  CHECK(read_integers(i64, i64.tensors()[0]) == std::vector<std::int64_t>{INT64_MIN, 7});
  CHECK(error_of([&] { read_floats(i64, i64.tensors()[0]); }).fault() == Fault::input);

  const DumpFile f64 = holding<double>(scratch, Dtype::F64, {0.1, 0x1.000001p0, 0x1.000003p0, 1e300, -0.0});
  const std::vector<float> rounded = read_floats(f64, f64.tensors()[0]);
  CHECK(rounded[0] == 0.1f);
  CHECK(rounded[1] == 1.0f);           // a tie goes to even
  CHECK(rounded[2] == 0x1.000004p0f);  // and up, if that is even
  CHECK(std::isinf(rounded[3]));
  CHECK(std::bit_cast<std::uint32_t>(rounded[4]) == 0x80000000u);
  CHECK(error_of([&] { read_integers(f64, f64.tensors()[0]); }).fault() == Fault::input);

  const DumpFile f16 = holding<std::uint16_t>(scratch, Dtype::F16, {0x0001, 0x7bff, 0xfc00});
  CHECK(read_floats(f16, f16.tensors()[0]) ==
        std::vector<float>{0x1p-24f, 65504.0f, -std::numeric_limits<float>::infinity()});
  const DumpFile bf16 = holding<std::uint16_t>(scratch, Dtype::BF16, {0x3fc0, 0x0001});
  CHECK(read_floats(bf16, bf16.tensors()[0]) == std::vector<float>{1.5f, 0x1p-133f});
  CHECK(digest_of(bf16, bf16.tensors()[0]) == digest(std::string_view("\xc0\x3f\x01\x00", 4)));
}

TEST_CASE("columns: blocks of logits, sliced, pitched and whole, at every alignment") {
  const Scratch scratch;
  // 7 rows of 5 F32 logits whose value is 10 * row + column, `shift` bytes off alignment.
  for (std::size_t shift = 0; shift < 4; ++shift) {
    std::string data(shift, 'x');
    for (int row = 0; row < 7; ++row)
      for (int column = 0; column < 5; ++column) {
        const auto value = static_cast<float>(10 * row + column);
        data.append(reinterpret_cast<const char*>(&value), 4);
      }
    std::string header = R"({"pad":{"dtype":"U8","shape":[)" + std::to_string(shift) +
                         R"(],"data_offsets":[0,)" + std::to_string(shift) +
                         R"(]},"logits":{"dtype":"F32","shape":[7,5],"data_offsets":[)" +
                         std::to_string(shift) + "," + std::to_string(shift + 140) + "]}}";
    const DumpFile dump = DumpFile::open(scratch.write_raw("d", header, data));
    Roles roles;
    roles.logits = *dump.find("logits");
    roles.rows = 7;
    roles.padded_vocab = 5;
    const std::vector<Range> rows{{1, 3}, {6, 7}};

    std::vector<float> slice(3 * 4, -1.0f);
    read_logits(dump, roles, rows, {2, 5}, 4, std::as_writable_bytes(std::span(slice)));
    CHECK(slice == std::vector<float>{12, 13, 14, -1, 22, 23, 24, -1, 62, 63, 64, -1});
    std::vector<float> whole(15);
    read_logits(dump, roles, rows, {0, 5}, 5, std::as_writable_bytes(std::span(whole)));
    CHECK(whole == std::vector<float>{10, 11, 12, 13, 14, 20, 21, 22, 23, 24, 60, 61, 62, 63, 64});
    std::vector<float> none(3, -1.0f);
    read_logits(dump, roles, rows, {3, 3}, 1, std::as_writable_bytes(std::span(none)));
    CHECK(none == std::vector<float>{-1, -1, -1});

    const auto broken = [&](const std::vector<Range>& asked, Range columns, std::int64_t pitch,
                            std::size_t room) {
      std::vector<std::byte> out(room);
      return error_of([&] { read_logits(dump, roles, asked, columns, pitch, out); }).fault() ==
             Fault::internal;
    };
    CHECK(broken(rows, {0, 6}, 6, 1000));
    CHECK(broken(rows, {0, 5}, 4, 1000));
    CHECK(broken(rows, {0, 5}, 5, 59));
    CHECK(broken({{6, 8}}, {0, 5}, 5, 1000));
  }
}

}  // namespace
}  // namespace drift
