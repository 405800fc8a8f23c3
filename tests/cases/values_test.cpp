// Small inputs whose right values are known, through the binary, and the values that common mistakes give.

#include <limits>

#include "case_run.hpp"

namespace drift {
namespace {

using namespace test;

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("H01: merging shards equals the dense row, whatever the shards", "[values]") {
  const std::vector<float> logits{0.1f, -0.2f, 1.7f, 0.3f, 1.2f, -0.5f};
  CaseFolder folder;
  for (const int tp : {1, 2, 3}) {
    if (tp > 1 && skipped_without_mpirun()) return;
    check_row(folder.run(one_row(logits, 4), tp), 2.5395807306347535, -1.3395806829510395);
    check_row(folder.run(one_row(logits, 4, true), tp), 2.5418289690459246, -1.3387039690459246);
  }
}

TEST_CASE("H01: what rounding the logits costs is reported apart, and is no drift", "[values]") {
  CaseFolder folder;
  const Audit audit =
      folder.run(one_row({0.1f, -0.2f, 1.7f, 0.3f, 1.2f, -0.5f}, 4), 1, 1, {"--candidate-dtype", "bf16"});
  INFO(audit.ran.all());
  REQUIRE(audit.ran.exit_code == 0);
  const auto& rounding = audit.aggregate.at("candidates").at(0).at("input_rounding");
  CHECK(std::abs(rounding.at("logp").at("max_abs").get<double>() - 8.767e-4) < 1e-6);
  CHECK(audit.drift("logp").at("max_abs").get<double>() < 2e-6);
  CHECK(std::abs(audit.column("fixed-tree_logp").at(0) + 1.3387039690459246) < 2e-6);
}

TEST_CASE("H02: padded columns never count, whatever they hold", "[values]") {
  CaseFolder folder;
  for (const std::vector<float>& pads :
       {std::vector<float>{0, 0}, {3, -7}, {-inf, -inf}, {nan, nan}, {inf, 1e38f}})
    for (const int tp : {1, 4}) {  // with tp 4 the last shard is padding only
      if (tp > 1 && skipped_without_mpirun()) return;
      INFO(pads[0] << " " << pads[1] << " tp " << tp);
      const auto dump = one_row({1, .5f, -.5f, 2, 0, -1, pads[0], pads[1]}, 3).meta("real_vocab_size", "6");
      const Audit audit = folder.run(dump, tp);
      check_row(audit, 2.6196173997473693, -0.6196173997473693);
      CHECK(audit.aggregate.at("input").at("nonfinite").at("active_row_count") == 0);
    }
}

TEST_CASE("H02: --padding include audits stacks that let them in", "[values]") {
  CaseFolder folder;
  const auto logp = [&](float a, float b) {
    const auto dump = one_row({1, .5f, -.5f, 2, 0, -1, a, b}, 3).meta("real_vocab_size", "6");
    const Audit audit = folder.run(dump, 1, 1, {"--padding", "include"});
    INFO(audit.ran.all());
    REQUIRE(audit.ran.exit_code == 0);
    return audit.column("fixed-tree_logp").at(0);
  };
  CHECK(std::abs(logp(0, 0) + 0.7555995512706541) < 2e-6);
  CHECK(std::abs(logp(3, -7) + 1.520961212887865) < 2e-6);
}

TEST_CASE("H04: the oracle divides in fp32; --temperature-order native shows what a bf16 division gives",
          "[values]") {
  struct Row {
    const char* t;
    double right, native;
  };
  CaseFolder folder;
  for (const Row& row : {Row{"0.7", -1.7439177997534128, -1.7446620389844725},
                         Row{"0.9", -1.5517777177727066, -1.5508462930775107},
                         Row{"0.6", -1.911727068217145, -1.9098009890197347},
                         Row{"1", -1.495181898085856, -1.495181898085856}}) {
    INFO("T = " << row.t);
    const auto dump = one_row({2, 1, .5f, -1}, 1, true);
    const Audit right = folder.run(dump, 1, 1, {"--temperature", row.t});
    INFO(right.ran.all());
    REQUIRE(right.ran.exit_code == 0);
    CHECK(std::abs(right.column("oracle_logp").at(0) - row.right) <= 2e-6);
    CHECK(std::abs(right.column("fixed-tree_logp").at(0) - row.right) <= 2e-6);

    const Audit native = folder.run(dump, 1, 1, {"--temperature", row.t, "--temperature-order", "native"});
    INFO(native.ran.all());
    CHECK(native.ran.exit_code == (row.right == row.native ? 0 : 1));  // drift is what was asked to be shown
    CHECK(std::abs(native.column("oracle_logp").at(0) - row.right) <= 2e-6);
    CHECK(std::abs(native.column("fixed-tree_logp").at(0) - row.native) <= 2e-6);
  }
  CHECK(folder.run(one_row({2, 1, .5f, -1}, 1, true), 1, 1, {"--temperature", "0"}).ran.exit_code == 2);
  CHECK(folder.run(one_row({2, 1, .5f, -1}, 1, true).meta("temperature", "0"), 1).ran.exit_code == 3);
}

TEST_CASE("H14: the target's logit comes from its owner, wherever shards are cut", "[values]") {
  if (skipped_without_mpirun()) return;
  CaseFolder folder;
  const std::vector<float> logits{1, 2, -1, .5f, 3, 0};
  for (const char* bounds : {"0,3,6", "0,4,6", "0,5,6", "0,0,6", "0,6,6", "0,1,6"})
    check_row(folder.run(one_row(logits, 4), 2, 1, {"--vocab-bounds", bounds}), 3.502835243708681,
              -0.5028352437086809);
  // What swapped shards would record: the LSE is the same, the log-prob is one nat off.
  const auto swapped = one_row(logits, 4).f32("rollout_logprobs", {1}, {-1.502835243708681f});
  const Audit audit = folder.run(swapped, 2);
  INFO(audit.ran.all());
  const auto& drift = audit.aggregate.at("recorded").at(0).at("vs").at("oracle").at("drift");
  CHECK(std::abs(drift.at("max_abs").get<double>() - 1) < 2e-6);
  CHECK(audit.aggregate.at("scope") == "user");
}

TEST_CASE("H16: a target on the fence post has exactly one owner", "[values]") {
  if (skipped_without_mpirun()) return;
  CaseFolder folder;
  const std::vector<float> logits{0, 1, 2, -1, .5f, 1.5f, 3, -2};
  for (const char* bounds : {"0,4,8", "0,5,8", "0,3,8"}) {
    const Audit audit = folder.run(one_row(logits, 4), 2, 1, {"--vocab-bounds", bounds});
    check_row(audit, 3.6330099129800506, -3.1330099129800506);
    const auto& worst = audit.aggregate.at("candidates").at(0).at("worst").at("logp").at(0);
    CHECK(worst.at("owner_tp_rank") == (std::string(bounds) == "0,5,8" ? 0 : 1));
  }
  check_row(folder.run(one_row(logits, 4), 2, 1, {"--formula", "megatron-unfused"}), 3.6330099129800506,
            -3.1330099129800506, "megatron-unfused");
}

TEST_CASE("H17: a shard at -inf adds nothing", "[values]") {
  if (skipped_without_mpirun()) return;
  CaseFolder folder;
  for (const char* formula : {"fixed-tree", "megatron-unfused"})
    check_row(folder.run(one_row({1, 2, -inf, -inf}, 0), 2, 1, {"--formula", formula}), 2.313261687518223,
              -1.313261687518223, formula);
}

TEST_CASE("H17: rows without a log-prob are counted, located and left out; the run fails with exit 3",
          "[values]") {
  if (skipped_without_mpirun()) return;
  CaseFolder folder;
  TinyDump dump;
  dump.f32("logits", {5, 4}, {1,    2,    -inf, -inf,  // fine
                              1,    2,    -inf, -inf,  // target at -inf
                              -inf, -inf, -inf, -inf,  // nothing
                              1,    nan,  2,    3,     // NaN
                              1,    2,    3,    inf})  // +inf
      .i64("targets", {5}, {0, 2, 1, 0, 0});
  const Audit audit = folder.run(dump, 2);
  INFO(audit.ran.all());
  CHECK(audit.ran.exit_code == 3);
  REQUIRE(audit.has_report());
  CHECK(audit.aggregate.at("status") == "failed");
  CHECK(audit.aggregate.at("exit_code") == 3);
  CHECK(audit.aggregate.at("error").at("code") == 3);
  const auto& nonfinite = audit.aggregate.at("input").at("nonfinite");
  CHECK(nonfinite.at("active_row_count") == 4);
  REQUIRE(nonfinite.at("active_rows").size() == 4);
  const auto& rows = nonfinite.at("active_rows");
  CHECK(rows.at(0).at("row") == 1);
  CHECK(rows.at(0).at("column") == 2);
  CHECK(rows.at(0).at("owner_tp_rank") == 1);
  CHECK(rows.at(1).at("row") == 2);
  CHECK(rows.at(2).at("row") == 3);
  CHECK(rows.at(2).at("column") == 1);
  CHECK(rows.at(2).at("owner_tp_rank") == 0);
  CHECK(rows.at(3).at("column") == 3);
  for (const char* quantity : {"lse", "logp"}) {
    const auto drift = audit.drift(quantity);
    CHECK(drift.at("count") == 1);
    CHECK(drift.at("max_abs").is_number());
    CHECK(drift.at("max_abs").get<double>() < 2e-6);
  }
  CHECK(audit.ran.out.find("FAILED") != std::string::npos);
}

TEST_CASE("H17: the same in an inactive row changes nothing", "[values]") {
  CaseFolder folder;
  TinyDump dump;
  dump.f32("logits", {2, 4}, {1, 2, -inf, -inf, nan, 2, inf, 3})
      .i64("targets", {2}, {0, 77})
      .mask("mask", {2}, {1, 0});
  const Audit audit = folder.run(dump, 1);
  INFO(audit.ran.all());
  CHECK(audit.ran.exit_code == 0);
  CHECK(audit.aggregate.at("status") == "pass");
  CHECK(audit.aggregate.at("input").at("nonfinite").at("inactive_row_count") == 1);
}

TEST_CASE("H19: masks and targets that contradict each other are exit 3, and nothing to compare never passes",
          "[values]") {
  CaseFolder folder;
  const auto dump = [](std::vector<std::int64_t> targets, std::vector<std::uint8_t> mask) {
    TinyDump out;
    out.f32("logits", {2, 4}, {1, 2, 3, 4, 4, 3, 2, 1}).i64("targets", {2}, targets);
    if (!mask.empty()) out.mask("mask", {2}, mask);
    return out;
  };
  const auto exit_code = [&](const TinyDump& of) {
    const Audit audit = folder.run(of, 1);
    INFO(audit.ran.all());
    if (audit.ran.exit_code == 3) CHECK(audit.aggregate.at("error").at("class") == "input");
    return audit.ran.exit_code;
  };
  CHECK(exit_code(dump({0, -100}, {1, 1})) == 3);
  CHECK(exit_code(dump({0, 4}, {1, 1})) == 3);
  CHECK(exit_code(dump({0, -1}, {1, 1})) == 3);
  CHECK(exit_code(dump({0, 4}, {})) == 3);
  CHECK(exit_code(dump({0, 1}, {0, 0})) == 3);
  CHECK(exit_code(dump({-100, -100}, {})) == 3);
  CHECK(exit_code(dump({0, 1}, {1, 2})) == 3);
  CHECK(exit_code(dump({0, -100}, {1, 0})) == 0);
  CHECK(exit_code(dump({0, -100}, {})) == 0);
  CHECK(exit_code(dump({0, 4}, {1, 0})) == 0);  // targets of inactive rows are never looked at
}

}  // namespace drift
