// What a dump means beyond plain rows, through the binary: temperatures a row, truncated vocabularies,
// distributions.

#include "case_run.hpp"

namespace drift {
namespace {

using namespace test;

const std::vector<float> half{std::log(.5f), std::log(.25f), std::log(.125f), std::log(.125f)};
const std::vector<float> nucleus{std::log(.5f), std::log(.3f), std::log(.15f), std::log(.05f)};

double oracle_logp(const Audit& audit, std::size_t row = 0) {
  INFO(audit.ran.all());
  REQUIRE(audit.ran.exit_code == 0);
  const float oracle = audit.column("oracle_logp").at(row);
  CHECK(std::abs(oracle - audit.column("fixed-tree_logp").at(row)) < 2e-6f);
  return static_cast<double>(oracle);
}

}  // namespace

TEST_CASE("H06: log-probs over what top-k and top-p keep", "[meaning]") {
  CaseFolder folder;
  CHECK(std::abs(oracle_logp(folder.run(one_row(half, 1), 1)) + 1.3862943611198906) < 2e-6);
  for (const int tp : {1, 2, 4}) {
    if (tp > 1 && skipped_without_mpirun()) return;
    CHECK(std::abs(oracle_logp(folder.run(one_row(half, 1), tp, 1, {"--top-k", "2"})) + 1.0986122886681098) <
          2e-6);
    CHECK(std::abs(oracle_logp(folder.run(one_row(nucleus, 1), tp, 1, {"--top-p", "0.8"})) +
                   0.9808292530117264) < 2e-6);
  }
  const Audit audit = folder.run(one_row(nucleus, 1).meta("top_p", "0.8"), 1);
  CHECK(std::abs(oracle_logp(audit) + 0.9808292530117264) < 2e-6);
  CHECK(audit.aggregate.at("case_sources").at("top_p") == "metadata");
  CHECK(audit.aggregate.at("input").at("kept").at("most") == 2);
  CHECK(audit.aggregate.at("input").at("kept").at("boundary_rows") == 1);  // 0.5 + 0.3 is p itself
}

TEST_CASE("H06: min-p keeps what has at least that share of the largest probability", "[meaning]") {
  CaseFolder folder;
  CHECK(std::abs(oracle_logp(folder.run(one_row(nucleus, 1), 1, 1, {"--min-p", "0.2"})) -
                 std::log(.3 / .95)) < 2e-6);
}

TEST_CASE("H06: raw log-probs are over the whole vocabulary, whatever the sampler kept", "[meaning]") {
  CaseFolder folder;
  const Audit audit =
      folder.run(one_row(nucleus, 1).meta("top_p", "0.8").meta("logprob_mode", "raw_logprobs"), 1);
  CHECK(std::abs(oracle_logp(audit) + 1.2039728043259361) < 2e-6);
  CHECK(audit.ran.out.find("raw") != std::string::npos);
}

TEST_CASE("a target that was not kept ends the audit with its rows", "[meaning]") {
  CaseFolder folder;
  TinyDump dump;
  std::vector<float> logits = half;
  logits.insert(logits.end(), half.begin(), half.end());
  dump.f32("logits", {2, 4}, logits).i64("targets", {2}, {0, 2});
  const Audit audit = folder.run(dump, 1, 1, {"--top-k", "2"});
  INFO(audit.ran.all());
  CHECK(audit.ran.exit_code == 3);
  CHECK(audit.ran.out.find("outside the kept set") != std::string::npos);
  CHECK(audit.ran.out.find("row 1;") != std::string::npos);
}

TEST_CASE("targets that were not kept are the same rows on every topology", "[meaning]") {
  if (skipped_without_mpirun()) return;
  CaseFolder folder;
  std::vector<float> logits;
  for (int r = 0; r < 12; ++r) logits.insert(logits.end(), half.begin(), half.end());
  TinyDump dump;
  dump.f32("logits", {12, 4}, logits).i64("targets", {12}, std::vector<std::int64_t>(12, 3));
  std::string message;
  for (const auto& [tp, cp] : {std::pair(1, 1), {3, 1}, {2, 2}}) {
    const Audit audit = folder.run(dump, tp, cp, {"--top-k", "2"});
    INFO(audit.ran.all());
    CHECK(audit.ran.exit_code == 3);
    REQUIRE(audit.has_report());
    const std::string said = audit.aggregate.at("error").at("message");
    CHECK(said.find("12 active rows") != std::string::npos);
    CHECK(said.find("top_k 2") != std::string::npos);
    if (!message.empty()) CHECK(said == message);
    message = said;
  }
}

TEST_CASE("a kept mask is as wide as the vocabulary or the logits, and counts real columns", "[meaning]") {
  CaseFolder folder;
  TinyDump padded;
  padded.f32("logits", {1, 6}, {0, 1, 2, 3, 96, 96}).i64("targets", {1}, {1}).meta("real_vocab_size", "4");
  padded.mask("kept_mask", {1, 6}, {1, 1, 0, 0, 1, 1});
  const Audit audit = folder.run(padded, 1);
  CHECK(std::abs(oracle_logp(audit) - (1 - std::log(1 + std::exp(1.0)))) < 2e-6);
  CHECK(audit.aggregate.at("input").at("kept").at("most") == 2);
  TinyDump narrow;
  narrow.f32("logits", {1, 6}, {0, 1, 2, 3, 96, 96}).i64("targets", {1}, {1}).meta("real_vocab_size", "4");
  narrow.mask("kept_mask", {1, 3}, {1, 1, 0});
  CHECK(folder.run(narrow, 1).ran.exit_code == 3);
}

TEST_CASE("the dump's own kept sets stand in the case, not the numbers that made them", "[meaning]") {
  CaseFolder folder;
  TinyDump ids = one_row(half, 1).meta("top_k", "3");
  ids.i64("kept_ids", {1, 2}, {0, 1});
  const Audit audit = folder.run(ids, 1);
  INFO(audit.ran.all());
  CHECK(audit.aggregate.at("case").at("top_k") == 0);
  CHECK(audit.aggregate.at("input").at("kept").at("from") == "kept_ids");
}

TEST_CASE("recorded tensors named as statistics keep both", "[meaning]") {
  CaseFolder folder;
  TinyDump dump = one_row(half, 1);
  dump.f32("entropy", {1}, {-7});
  const Audit audit = folder.run(dump, 1, 1, {"--recorded", "entropy", "--row-stats"});
  INFO(audit.ran.all());
  CHECK(std::abs(audit.column("entropy").at(0) - 1.2130075659799042) < 1e-6);
  CHECK(audit.column("recorded.entropy").at(0) == -7.0f);
}

TEST_CASE("a wrong --gate does not change what a run was about", "[meaning]") {
  CaseFolder folder;
  TinyDump dump = one_row(half, 1);
  dump.f32("rollout_logprobs", {1}, {-1.3862944f});
  const Audit audit = folder.run(dump, 1, 1, {"--gate", "nope.x <= 1"});
  CHECK(audit.ran.exit_code == 2);
  CHECK(audit.ran.out.find("self-check only") == std::string::npos);
}

TEST_CASE("kept sets as ids with offsets, as filled-up ids, and as a mask", "[meaning]") {
  CaseFolder folder;
  const double right = -1.0986122886681098;
  for (const int tp : {1, 2}) {
    if (tp > 1 && skipped_without_mpirun()) return;
    TinyDump ids = one_row(half, 1);
    ids.i64("kept_ids", {2}, {1, 0}).i64("kept_offsets", {2}, {0, 2});
    CHECK(std::abs(oracle_logp(folder.run(ids, tp)) - right) < 2e-6);
    TinyDump filled = one_row(half, 1);
    filled.i64("kept_ids", {1, 3}, {0, 1, -1});
    CHECK(std::abs(oracle_logp(folder.run(filled, tp)) - right) < 2e-6);
    TinyDump mask = one_row(half, 1);
    mask.mask("kept_mask", {1, 4}, {1, 1, 0, 0});
    CHECK(std::abs(oracle_logp(folder.run(mask, tp)) - right) < 2e-6);
  }
  TinyDump outside = one_row(half, 1);
  outside.i64("kept_ids", {1, 2}, {0, 4});
  CHECK(folder.run(outside, 1).ran.exit_code == 3);
  TinyDump torn = one_row(half, 1);
  torn.i64("kept_ids", {2}, {1, 0}).i64("kept_offsets", {2}, {0, 3});
  CHECK(folder.run(torn, 1).ran.exit_code == 3);
}

TEST_CASE("a temperature per row and per sequence divides each row by its own", "[meaning]") {
  CaseFolder folder;
  const std::vector<float> one{2, 1, .5f, -1};
  std::vector<float> logits;
  for (int r = 0; r < 4; ++r) logits.insert(logits.end(), one.begin(), one.end());
  const std::vector<double> right{-1.7439177997534128, -1.5517777177727066, -1.911727068217145,
                                  -1.495181898085856};
  for (const auto& [tp, cp] : {std::pair(1, 1), {2, 1}, {2, 2}}) {
    if (tp * cp > 1 && skipped_without_mpirun()) return;
    TinyDump rows;
    rows.bf16("logits", {2, 2, 4}, logits).i64("targets", {2, 2}, {1, 1, 1, 1});
    rows.f32("temperature", {2, 2}, {.7f, .9f, .6f, 1});
    const Audit audit = folder.run(rows, tp, cp);
    for (std::size_t r = 0; r < 4; ++r) CHECK(std::abs(oracle_logp(audit, r) - right[r]) < 2e-6);
    TinyDump sequences;
    sequences.bf16("logits", {2, 2, 4}, logits).i64("targets", {2, 2}, {1, 1, 1, 1});
    sequences.f32("temperatures", {2}, {.7f, .6f});
    const Audit by_sequence = folder.run(sequences, tp, cp);
    CHECK(std::abs(oracle_logp(by_sequence, 1) - right[0]) < 2e-6);
    CHECK(std::abs(oracle_logp(by_sequence, 2) - right[2]) < 2e-6);
  }
}

TEST_CASE("a temperature per row that is no temperature, or said twice, is refused", "[meaning]") {
  CaseFolder folder;
  const auto with = [&](float t) {
    TinyDump dump = one_row({2, 1, .5f, -1}, 1, true);
    dump.f32("temperature", {1}, {t});
    return dump;
  };
  CHECK(folder.run(with(0), 1).ran.exit_code == 3);
  CHECK(folder.run(with(std::nanf("")), 1).ran.exit_code == 3);
  CHECK(folder.run(with(.7f).meta("temperature", "0.7"), 1).ran.exit_code == 3);
  const Audit typed = folder.run(with(.7f), 1, 1, {"--temperature", "1"});
  CHECK(std::abs(oracle_logp(typed) + 1.495181898085856) < 2e-6);
  CHECK(typed.ran.out.find("overrides the dump's tensor") != std::string::npos);
}

TEST_CASE("--row-stats: entropy and sum of squared probabilities", "[meaning]") {
  CaseFolder folder;
  const Audit audit = folder.run(one_row(half, 1), 1, 1, {"--row-stats"});
  INFO(audit.ran.all());
  REQUIRE(audit.ran.exit_code == 0);
  const auto& stats = audit.aggregate.at("oracle").at("row_stats");
  CHECK(std::abs(stats.at("entropy").at("mean").get<double>() - 1.75 * std::log(2.0)) < 1e-6);
  CHECK(std::abs(stats.at("sum_p2").at("mean").get<double>() - .34375) < 1e-6);
  CHECK(std::abs(audit.column("entropy").at(0) - 1.2130075659799042) < 1e-6);
  CHECK(std::abs(audit.column("sum_p2").at(0) - .34375f) < 1e-6);
}

TEST_CASE("strata: the bins of a table add up to the rows that were compared", "[meaning]") {
  if (skipped_without_mpirun()) return;
  CaseFolder folder;
  std::vector<float> logits;
  std::vector<std::int64_t> targets;
  std::vector<float> recorded;
  for (int r = 0; r < 12; ++r) {
    for (int v = 0; v < 8; ++v) logits.push_back(static_cast<float>((r * 7 + v * 3) % 11));
    targets.push_back(r % 8);
    recorded.push_back(-1.0f - static_cast<float>(r));
  }
  TinyDump dump;
  dump.f32("logits", {2, 6, 8}, logits)
      .i64("targets", {2, 6}, targets)
      .f32("rollout_logprobs", {2, 6}, recorded);
  const Audit audit = folder.run(dump, 2, 2, {"--strata", "all", "--cp-layout", "zigzag"});
  INFO(audit.ran.all());
  const auto& vs = audit.aggregate.at("recorded").at(0).at("vs").at("oracle");
  const auto& strata = vs.at("strata");
  for (const char* table :
       {"logp", "position", "mask_edge", "sequence_edge", "segment", "owner_tp_rank", "cp_chunk"}) {
    INFO(table);
    REQUIRE(strata.contains(table));
    std::int64_t rows = 0;
    for (const auto& bin : strata.at(table)) rows += bin.at("count").get<std::int64_t>();
    CHECK(rows == vs.at("drift").at("count").get<std::int64_t>());
    CHECK(audit.ran.out.find(std::string("by ") + table) != std::string::npos);
  }
}

}  // namespace drift
