// What `inspect` says: of the corpus, of generated dumps, of the example.

#include "dump/inspect.hpp"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include "dump/census.hpp"
#include "dump/columns.hpp"
#include "dump/dump_writer.hpp"
#include "dump/generate.hpp"
#include "scratch.hpp"

namespace drift {
namespace {

TEST_CASE("inspect: every well-formed file of the corpus can be inspected, without logits too") {
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(DRIFT_SOURCE_DIR "/tests/data/safetensors")) {
    if (entry.path().extension() != ".safetensors") continue;
    std::optional<DumpFile> dump;
    try {
      dump = DumpFile::open(entry.path().string());
    } catch (const Error&) {
      continue;  // corpus_test says which
    }
    ++seen;
    const std::string report = inspect_report(*dump, {});
    CHECK(contains(report, "run would refuse this file:\n  " + entry.path().string() + ": no logits"));
  }
  CHECK(seen == 24);
}

TEST_CASE("inspect: a generated dump, its vocabulary, census and what run would use") {
  const Scratch scratch;
  generate(scratch.path("g"),
           {.rows = 20, .vocab = 100, .padded_vocab = 103, .dtype = Dtype::BF16, .profile = Profile::masked});
  const std::string report = inspect_report(DumpFile::open(scratch.path("g")), {});
  INFO(report);
  CHECK(contains(report, "vocabulary: 100 real, 103 with padding"));
  // 33 columns of 5 rows at -inf, of 10 rows at finite masks; padding NaN, +inf, -inf.
  CHECK(contains(report, "2000 values: 0 NaN, 0 +inf or above 2^30, 165 -inf, 330 masks"));
  CHECK(contains(report, "60 values: 20 NaN, 20 +inf or above 2^30, 20 -inf, 0 masks"));
  CHECK(contains(report, "run would use:\n  logits: \"logits\" BF16 [20, 103]"));
  CHECK(contains(report, "self-check only"));
  CHECK(contains(inspect_report(DumpFile::open(scratch.path("g")), {}, 103),
                 "the first NaN or +inf is in row 0, column 100 (an active row"));
}

TEST_CASE("inspect: why run would refuse, each reason once") {
  const Scratch scratch;
  const std::array<float, 6> values{0, 1, 2, 3, 4, 5};
  const std::vector<TensorData> tensors{{"logits", Dtype::F32, {2, 3}, std::as_bytes(std::span(values))}};
  write_dump(scratch.path("d"), tensors, {{"top_p", "5"}, {"\x1b]0;", "\x1b[2J"}});
  const std::string report = inspect_report(DumpFile::open(scratch.path("d")), {});
  INFO(report);
  CHECK(contains(report, "no targets: wanted one of"));
  CHECK(contains(report, "\"top_p\": seen \"5\", wanted a number above 0"));
  CHECK(contains(report, "6 values: 0 NaN"));
  CHECK_FALSE(contains(report, "\x1b"));
}

TEST_CASE("census: kinds, places and borders, over rows that do not fit one piece") {
  const Scratch scratch;
  constexpr float inf = std::numeric_limits<float>::infinity();
  const std::int64_t vocab = (1 << 20) + 5;  // two pieces a row
  std::vector<float> values(static_cast<std::size_t>(2 * vocab));
  const auto set = [&](std::int64_t row, std::int64_t column, float value) {
    values[static_cast<std::size_t>(row * vocab + column)] = value;
  };
  set(0, 3, -0x1p30f);  // the border itself is an ordinary value
  set(0, 4, 0x1p30f);
  set(0, 5, -0x1.000002p30f);  // masked
  set(0, vocab - 3, -inf);
  set(1, (1 << 20) + 1, inf);  // first of its kind in the real columns
  set(1, 9, 0x1.000002p30f);   // but this column comes before
  set(1, vocab - 1, std::numeric_limits<float>::quiet_NaN());
  const std::vector<TensorData> tensors{{"logits", Dtype::F32, {2, vocab}, std::as_bytes(std::span(values))}};
  write_dump(scratch.path("d"), tensors);
  const DumpFile dump = DumpFile::open(scratch.path("d"));
  const LogitsCensus census = census_of(dump, dump.tensors()[0], vocab - 2);
  CHECK(census.real.values == 2 * (vocab - 2));
  CHECK(census.real.masked == 1);
  CHECK(census.real.minus == 1);
  CHECK(census.real.plus == 2);
  CHECK(census.real.nan == 0);
  CHECK(census.real.first_row == 1);
  CHECK(census.real.first_column == 9);
  CHECK(census.padded.values == 4);
  CHECK(census.padded.nan == 1);
  CHECK(census.padded.first_row == 1);
  CHECK(census.padded.first_column == vocab - 1);
}

TEST_CASE("example: the shipped cut is what run accepts, and is bits of the full dump") {
  const DumpFile cut = DumpFile::open(DRIFT_SOURCE_DIR "/examples/rollout-t0.7-cut.safetensors");
  const Roles roles = find_roles(cut, {});
  CHECK(roles.batch == 1);
  CHECK(roles.rows == 8);
  CHECK(roles.padded_vocab == 151936);
  CHECK(read_mask(cut, *roles.mask) == std::vector<std::uint8_t>{0, 1, 1, 1, 1, 1, 1, 1});
  REQUIRE(roles.recorded.size() == 1);
  CHECK(roles.recorded[0].name == "rollout_logprobs");
  CHECK(cut.metadata().at("temperature") == "0.7");
  CHECK_FALSE(contains(inspect_report(cut, {}), "refuse"));

  const char* data = std::getenv("DRIFT_TEST_DATA");
  if (data == nullptr) {
    WARN("SKIPPED in part: DRIFT_TEST_DATA does not name the folder of the full dumps");
    return;
  }
  const DumpFile full = DumpFile::open(std::string(data) + "/rollout-t0.7.safetensors");
  CHECK(full.metadata() == cut.metadata());
  CHECK(full.tensors().size() == cut.tensors().size());
  for (const TensorInfo& tensor : full.tensors()) {
    const TensorInfo* piece = cut.find(tensor.name);
    REQUIRE(piece != nullptr);
    const std::int64_t row_bytes = tensor.bytes / 48;
    REQUIRE(piece->bytes == 8 * row_bytes);
    std::vector<std::byte> of_full(static_cast<std::size_t>(piece->bytes)), of_cut(of_full.size());
    full.read(tensor.offset + 2 * row_bytes, of_full);
    cut.read(piece->offset, of_cut);
    CHECK(of_full == of_cut);
  }
}

}  // namespace
}  // namespace drift
