// Synthetic dumps: the integers, the closed forms, and the recorded facts of other programs that made the
// same bits.

#include "dump/generate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include "dump/columns.hpp"
#include "dump/facts.hpp"
#include "scratch.hpp"

namespace drift {
namespace {

struct Generated {
  Roles roles;
  std::vector<float> values;  ///< [rows, padded_vocab]
  std::vector<std::int64_t> targets;
  std::vector<std::uint8_t> mask;

  float at(std::int64_t row, std::int64_t column) const {
    return values[static_cast<std::size_t>(row * roles.padded_vocab + column)];
  }
  long double lse(std::int64_t row, std::int64_t vocab) const {
    long double most = -HUGE_VALL, sum = 0;
    for (std::int64_t c = 0; c < vocab; ++c) most = std::max<long double>(most, at(row, c));
    for (std::int64_t c = 0; c < vocab; ++c) sum += std::exp(static_cast<long double>(at(row, c)) - most);
    return most + std::log(sum);
  }
};

Generated make(const Scratch& scratch, const GenerateRequest& request) {
  generate(scratch.path("g"), request);
  const DumpFile dump = DumpFile::open(scratch.path("g"));
  CHECK(dump.warnings().empty());
  Generated out;
  out.roles = find_roles(dump, {});
  DumpFacts facts = read_facts(dump);
  CHECK_NOTHROW(check_facts(dump, facts, out.roles));
  CHECK(facts.real_vocab_size == request.vocab);
  CHECK(facts.padded_vocab_size == request.padded_vocab);
  CHECK(facts.temperature == 1.0);
  CHECK(out.roles.rows == request.rows);
  out.values = read_floats(dump, out.roles.logits);
  out.targets = read_integers(dump, out.roles.targets);
  if (out.roles.mask) out.mask = read_mask(dump, *out.roles.mask);
  return out;
}

TEST_CASE("generate: flat and sharp follow the integers") {
  const Scratch scratch;
  GenerateRequest request{.rows = 6, .vocab = 1000, .padded_vocab = 1024, .dtype = Dtype::F32, .seed = 7};
  const Generated flat = make(scratch, request);
  // From an independent program in Python.
  const std::array<int, 4> first{-21028, 23990, -29411, 16089};
  for (int c = 0; c < 4; ++c)
    CHECK(flat.at(0, c) == static_cast<float>(first[static_cast<std::size_t>(c)]) * 0x1p-14f);
  CHECK(flat.at(3, 0) == -46257 * 0x1p-14f);
  CHECK(flat.at(3, 999) == 39027 * 0x1p-14f);
  CHECK(flat.at(0, 1000) == 96.0f);  // padding shouts
  CHECK(std::vector(flat.targets.begin(), flat.targets.begin() + 4) ==
        std::vector<std::int64_t>{694, 175, 692, 15});
  request.profile = Profile::sharp;
  const Generated sharp = make(scratch, request);
  CHECK(sharp.targets == flat.targets);
  for (std::int64_t row = 0; row < 4; row += 2) {
    CHECK(sharp.at(row, flat.targets[static_cast<std::size_t>(row)]) ==
          flat.at(row, flat.targets[static_cast<std::size_t>(row)]) + 16.0f);
    CHECK(sharp.at(row, 0) == flat.at(row, 0));
  }
  // Rounded once: bf16 keeps 8 bits of -21028 * 2^-14 = -1.28345
  request.dtype = Dtype::BF16;
  CHECK(make(scratch, request).at(0, 0) == -1.28125f);
  request.dtype = Dtype::F64;
  CHECK(make(scratch, request).values == sharp.values);
}

TEST_CASE("generate: exact rows have the LSE that is promised") {
  const Scratch scratch;
  for (const Dtype dtype : {Dtype::BF16, Dtype::F16, Dtype::F32, Dtype::F64})
    for (const std::int64_t vocab : {1, 2, 7, 1000, 1024}) {
      const GenerateRequest request{
          .rows = 40, .vocab = vocab, .padded_vocab = vocab + 3, .dtype = dtype, .profile = Profile::exact};
      const Generated made = make(scratch, request);
      for (std::int64_t row = 0; row < request.rows; ++row) {
        INFO("vocab " << vocab << " row " << row);
        CHECK(std::abs(static_cast<double>(made.lse(row, vocab)) - exact_lse(request, row)) < 1e-13);
        CHECK(std::isfinite(made.at(row, made.targets[static_cast<std::size_t>(row)])));
      }
    }
}

TEST_CASE("generate: masked rows mask every third column and never an active target") {
  const Scratch scratch;
  for (const Dtype dtype : {Dtype::BF16, Dtype::F16, Dtype::F32, Dtype::F64}) {
    const GenerateRequest request{
        .rows = 20, .vocab = 100, .padded_vocab = 103, .dtype = dtype, .profile = Profile::masked};
    const Generated made = make(scratch, request);
    REQUIRE(made.mask.size() == 20);
    CHECK(std::isnan(made.at(0, 100)));
    CHECK(made.at(0, 101) == HUGE_VALF);
    for (std::int64_t row = 0; row < 20; ++row) {
      const auto r = static_cast<std::size_t>(row);
      CHECK(made.mask[r] == (row % 5 != 4));
      for (std::int64_t column = 1; column < 100; column += 3) {
        const float value = made.at(row, column);
        CHECK((row % 4 == 3 ? std::abs(value) <= 8 : value <= -65504.0f));
      }
      if (made.mask[r]) {
        REQUIRE((made.targets[r] >= 0 && made.targets[r] < 100));
        CHECK(made.targets[r] % 3 != 1);
      } else {
        CHECK((made.targets[r] == -100 || made.targets[r] >= 100));
      }
    }
    CHECK(made.at(0, 1) == -HUGE_VALF);
    if (dtype == Dtype::BF16) CHECK(made.at(1, 1) == -0x1.fep127f);
    if (dtype == Dtype::F32) CHECK(made.at(1, 1) == -std::numeric_limits<float>::max());
    if (dtype == Dtype::F32) CHECK(made.at(2, 1) == -0x1p100f);
  }
}

TEST_CASE("generate: fence-post targets sit at both sides of every shard border") {
  const Scratch scratch;
  const GenerateRequest request{.rows = 64, .vocab = 100, .padded_vocab = 104, .profile = Profile::fencepost};
  const Generated made = make(scratch, request);
  const auto hit = [&](std::int64_t column) {
    return std::find(made.targets.begin(), made.targets.end(), column) != made.targets.end();
  };
  // 104 columns: tp 2 cuts at 52; tp 3 at 35, 70; tp 4 at 26, 52, 78; tp 8 at every 13.
  for (const std::int64_t cut : {52, 35, 70, 26, 78, 13, 39, 65, 91}) {
    CHECK(hit(cut));
    CHECK(hit(cut - 1));
  }
  CHECK(hit(0));
  CHECK(hit(99));
  for (const std::int64_t target : made.targets) CHECK((target >= 0 && target < 100));
}

TEST_CASE("generate: requests without meaning are usage errors, profiles have names") {
  const Scratch scratch;
  const auto fault = [&](const GenerateRequest& request) {
    return error_of([&] { generate(scratch.path("g"), request); }).fault();
  };
  CHECK(fault({.rows = 0}) == Fault::usage);
  CHECK(fault({.vocab = 0}) == Fault::usage);
  CHECK(fault({.vocab = 10, .padded_vocab = 9}) == Fault::usage);
  CHECK(fault({.dtype = Dtype::F8_E4M3}) == Fault::usage);
  CHECK(fault({.padded_vocab = std::int64_t{1} << 40}) == Fault::usage);
  CHECK(fault({.rows = std::int64_t{1} << 61}) == Fault::usage);
  CHECK(scratch.files() == 0);
  for (const Profile profile :
       {Profile::flat, Profile::sharp, Profile::exact, Profile::masked, Profile::fencepost})
    CHECK(profile_named(name(profile)) == profile);
  CHECK_FALSE(profile_named("spiky").has_value());
}

TEST_CASE("generate: the recorded targets and LSEs of the same integers are reproduced") {
  const char* file = std::getenv("DRIFT_PEER_BITS");
  if (file == nullptr) {
    WARN("SKIPPED: DRIFT_PEER_BITS does not name peer-kernels-seed7.safetensors");
    return;
  }
  const DumpFile recorded = DumpFile::open(file);
  const Scratch scratch;
  int compared = 0;
  for (const std::int64_t vocab : {1000, 1024, 4096, 10007})
    for (const auto& [key, dtype] :
         {std::pair{"bf16", Dtype::BF16}, std::pair{"f16", Dtype::F16}, std::pair{"f32", Dtype::F32}})
      for (const Profile profile : {Profile::flat, Profile::sharp}) {
        const Generated made = make(
            scratch, {.rows = 16, .vocab = vocab, .padded_vocab = vocab, .dtype = dtype, .profile = profile});
        const std::string prefix =
            "v" + std::to_string(vocab) + ".t16." + std::string(name(profile)) + "." + key + ".";
        INFO(prefix);
        const TensorInfo *targets = recorded.find(prefix + "targets"),
                         *lse = recorded.find(prefix + "lse_fp64");
        REQUIRE(targets != nullptr);
        REQUIRE(lse != nullptr);
        CHECK(read_integers(recorded, *targets) == made.targets);
        std::vector<double> wanted(16);
        recorded.read(lse->offset, std::as_writable_bytes(std::span(wanted)));
        for (std::int64_t row = 0; row < 16; ++row, ++compared)
          CHECK(std::abs(static_cast<double>(made.lse(row, vocab)) - wanted[static_cast<std::size_t>(row)]) <
                1e-13);
      }
  CHECK(compared == 4 * 3 * 2 * 16);
}

}  // namespace
}  // namespace drift
