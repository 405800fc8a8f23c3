// H25: the same audit gives the same bytes; a topology changes no bit; one flipped bit is seen where it must
// be.

#include <bit>

#include "case_run.hpp"

namespace drift {
namespace {

using namespace test;

std::vector<std::string> reports(int ranks) {
  std::vector<std::string> out{"aggregate.json", "tokens.safetensors"};
  for (int rank = 0; rank < ranks; ++rank) out.push_back("rank-000" + std::to_string(rank) + ".json");
  return out;
}

/// `rows` x 40 logits in [-4, 4], a real vocabulary of 37 and `padded` columns.
TinyDump seeded(std::int64_t padded, int flip_row = -1, int flip_column = -1) {
  constexpr std::int64_t rows = 6, real = 37;
  std::vector<std::uint16_t> logits;
  std::vector<std::int64_t> targets;
  std::uint64_t state = 12345;
  const auto next = [&] { return state = state * 6364136223846793005u + 1442695040888963407u; };
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < padded; ++column) {
      const auto value =
          column < real ? static_cast<float>(static_cast<std::int64_t>(next() >> 40) % 4096) / 512 - 4 : 9;
      std::uint16_t bits = round_bf16(column == 5 && row == 2 ? -150 : value);
      if (row == flip_row && column == flip_column) bits ^= 1;
      logits.push_back(bits);
    }
    targets.push_back(static_cast<std::int64_t>(row * 7 % real));
  }
  TinyDump dump;
  dump.add("logits", Dtype::BF16, {rows, padded}, logits)
      .i64("targets", {rows}, targets)
      .meta("real_vocab_size", std::to_string(real));
  return dump;
}

}  // namespace

TEST_CASE("H25: the same audit twice leaves the same bytes, but for run.json", "[identity]") {
  if (skipped_without_mpirun()) return;
  TemporaryFolder folder;
  const std::string dump = seeded(40).write(folder.path("d.safetensors"));
  const std::vector<std::string> options{"--tp", "2",         "--cp",
                                         "2",    "--formula", "fixed-tree,megatron-unfused"};
  const Audit first = audit_case(dump, folder.path("a"), 4, options);
  const Audit second = audit_case(dump, folder.path("b"), 4, options);
  INFO(first.ran.all() << second.ran.all());
  REQUIRE(first.ran.exit_code == 0);
  REQUIRE(second.ran.exit_code == 0);
  for (const std::string& name : reports(4)) {
    INFO(name);
    const std::string bytes = file_text(folder.path("a/" + name));
    CHECK_FALSE(bytes.empty());
    CHECK(bytes == file_text(folder.path("b/" + name)));
  }
  CHECK(std::filesystem::exists(folder.path("a/run.json")));
}

TEST_CASE("H25: TP, CP, bounds, padded width and chunks change no bit of fixed-tree", "[identity]") {
  if (skipped_without_mpirun()) return;
  CaseFolder folder;
  const Audit one = folder.run(seeded(37), 1);
  INFO(one.ran.all());
  REQUIRE(one.ran.exit_code == 0);
  const auto same = [&](const Audit& other) {
    INFO(other.ran.all());
    REQUIRE(other.ran.exit_code == 0);
    CHECK(other.digests() == one.digests());
    CHECK(other.aggregate.at("oracle").at("digests") == one.aggregate.at("oracle").at("digests"));
    CHECK(other.aggregate.at("candidates").at(0).at("replicated") == true);
  };
  same(folder.run(seeded(40), 2));
  same(folder.run(seeded(64), 4));
  same(folder.run(seeded(40), 2, 2));
  same(folder.run(seeded(40), 1, 4, {"--rows-per-chunk", "1"}));
  same(folder.run(seeded(40), 3, 1, {"--vocab-bounds", "0,1,38,40"}));
  same(folder.run(seeded(64), 4, 1, {"--vocab-bounds", "0,0,13,13,64", "--rows-per-chunk", "2"}));
  same(folder.run(seeded(40), 1, 8));  // more ranks than rows
}

TEST_CASE(
    "H25: one flipped bit changes the input's digest, and the output's exactly when an output bit changes",
    "[identity]") {
  CaseFolder folder;
  const auto logits_digest = [](const Audit& audit) {
    return audit.aggregate.at("input").at("logits").at("digest");
  };
  const Audit original = folder.run(seeded(40), 1);
  REQUIRE(original.ran.exit_code == 0);
  const auto lse = original.column("fixed-tree_lse"), logp = original.column("fixed-tree_logp");

  const Audit far_below = folder.run(seeded(40, 2, 5), 1);  // -150 by one ulp: lost in the sum
  REQUIRE(far_below.ran.exit_code == 0);
  CHECK(logits_digest(far_below) != logits_digest(original));
  CHECK(far_below.digests() == original.digests());

  for (const int row : {0, 1, 2, 3}) {
    const int target = row * 7 % 37;
    const Audit flipped = folder.run(seeded(40, row, target), 1);
    INFO("row " << row << "\n" << flipped.ran.all());
    REQUIRE(flipped.ran.exit_code == 0);
    CHECK(logits_digest(flipped) != logits_digest(original));
    CHECK(flipped.digests().at("logp") != original.digests().at("logp"));
    const auto changed = flipped.column("fixed-tree_logp");
    for (std::size_t r = 0; r < logp.size(); ++r)
      CHECK((std::bit_cast<std::uint32_t>(changed[r]) != std::bit_cast<std::uint32_t>(logp[r])) ==
            (r == static_cast<std::size_t>(row)));
    const bool lse_changed = flipped.column("fixed-tree_lse") != lse;
    CHECK((flipped.digests().at("lse") != original.digests().at("lse")) == lse_changed);
  }

  const Audit padding =
      folder.run(seeded(40, 3, 38), 1);  // a padded column belongs to the input, not to the output
  CHECK(logits_digest(padding) != logits_digest(original));
  CHECK(padding.digests() == original.digests());
}

TEST_CASE("H25: compare finds nothing between two runs of one audit, and says what worsened", "[identity]") {
  CaseFolder folder;
  const Audit good = folder.run(seeded(40), 1), again = folder.run(seeded(40), 1);
  const Ran same = drift_audit({"compare", good.folder, again.folder});
  INFO(same.all());
  CHECK(same.exit_code == 0);
  const Audit strict = folder.run(seeded(40), 1, 1, {"--formula", "megatron-unfused", "--atol", "0"});
  if (strict.ran.exit_code == 1) {
    const Ran worse = drift_audit({"compare", good.folder, strict.folder});
    INFO(worse.all());
    CHECK(worse.exit_code == 1);
    CHECK(drift_audit({"compare", strict.folder, good.folder}).exit_code == 0);
  }
}

}  // namespace drift
