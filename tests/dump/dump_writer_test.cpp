// Written files are read back as they were meant; half a file never appears.

#include "dump/dump_writer.hpp"

#include <array>

#include "dump/columns.hpp"
#include "scratch.hpp"

namespace drift {
namespace {

TEST_CASE("dump_writer: a round trip keeps names, shapes, bytes and metadata, aligned") {
  const Scratch scratch;
  const std::array<std::uint8_t, 3> mask{1, 0, 1};
  const std::array<std::int64_t, 3> targets{5, -100, 7};
  const std::array<float, 2> values{1.5f, -2.0f};
  const std::string odd = "\"\\\n\xc3\xa9/";
  const std::vector<TensorData> tensors{{"mask", Dtype::BOOL, {3}, std::as_bytes(std::span(mask))},
                                        {"targets", Dtype::I64, {1, 3}, std::as_bytes(std::span(targets))},
                                        {odd, Dtype::F32, {2, 1}, std::as_bytes(std::span(values))},
                                        {"empty", Dtype::F64, {0, 3}, {}}};
  write_dump(scratch.path("d"), tensors, {{"k", odd}, {"temperature", "0.7"}});
  const DumpFile dump = DumpFile::open(scratch.path("d"));
  CHECK(dump.tensors().size() == 4);
  CHECK(dump.warnings().empty());
  CHECK(dump.metadata() == Metadata{{"k", odd}, {"temperature", "0.7"}});
  for (const TensorInfo& tensor : dump.tensors()) CHECK(tensor.offset % bytes(tensor.dtype) == 0);
  CHECK(read_integers(dump, *dump.find("targets")) == std::vector<std::int64_t>{5, -100, 7});
  CHECK(read_mask(dump, *dump.find("mask")) == std::vector<std::uint8_t>{1, 0, 1});
  CHECK(read_floats(dump, *dump.find(odd)) == std::vector<float>{1.5f, -2.0f});
  CHECK(dump.find(odd)->shape == std::vector<std::int64_t>{2, 1});
  CHECK(scratch.files() == 1);
}

TEST_CASE("dump_writer: wrong amounts, names and shapes leave no file") {
  const Scratch scratch;
  const std::array<std::byte, 8> eight{};
  const auto fault = [&](const std::vector<TensorData>& tensors) {
    return error_of([&] { write_dump(scratch.path("d"), tensors); }).fault();
  };
  CHECK(fault({{"a", Dtype::F32, {3}, eight}}) == Fault::internal);
  CHECK(fault({{"a", Dtype::F32, {2}, eight}, {"a", Dtype::F32, {2}, eight}}) == Fault::internal);
  CHECK(fault({{"", Dtype::F32, {2}, eight}}) == Fault::input);
  CHECK(fault({{"a", Dtype::F32, {std::int64_t{1} << 62, 4}, eight}}) == Fault::internal);
  const std::vector<TensorSpec> one{{"a", Dtype::F32, {3}}};
  {
    DumpWriter writer(scratch.path("d"), one, {});
    writer.append(eight);
    CHECK(error_of([&] { writer.append(eight); }).fault() == Fault::internal);
  }
  {
    DumpWriter writer(scratch.path("d"), one, {});
    writer.append(eight);
    CHECK(error_of([&] { writer.commit(); }).fault() == Fault::internal);
  }
  CHECK(scratch.files() == 0);
}

}  // namespace
}  // namespace drift
