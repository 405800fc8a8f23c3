// Two recorded tensors against each other, through the binary: identity before any number, then the
// frameworks' metrics.

#include "case_run.hpp"

namespace drift {
namespace {

using namespace test;

const std::vector<float> train{-.5f, -1, -2, -.25f, -3}, rollout{-.5f, -1.25f, -1, -.25f, -.1f};

/// H22: five tokens, the last masked out.
TinyDump h22() {
  TinyDump dump;
  dump.f32("old_log_probs", {1, 5}, train)
      .f32("rollout_log_probs", {1, 5}, rollout)
      .mask("response_mask", {1, 5}, {1, 1, 1, 1, 0});
  return dump;
}

double metric(const Audit& audit, const std::string& key) {
  return audit.aggregate.at("pairs").at(0).at("metrics").at(key).get<double>();
}

/// One side of a pair in a file of its own.
TinyDump side(const std::string& name, const std::vector<float>& values) {
  TinyDump dump;
  dump.f32(name, {1, 5}, values)
      .i64("targets", {1, 5}, {4, 8, 15, 16, 23})
      .mask("mask", {1, 5}, {1, 1, 1, 1, 0});
  return dump;
}

struct TwoFiles {
  CaseFolder folder;
  Audit run(TinyDump a, TinyDump b, std::vector<std::string> options = {}) {
    const std::string first = a.write(folder.path("a.safetensors")),
                      second = b.write(folder.path("b.safetensors"));
    options.insert(options.end(), {"--recorded", "log_probs," + second + ":rollout_logprobs"});
    return folder.run(first, 1, 1, options);
  }
};

void check_not_comparable(const Audit& audit, const std::string& why) {
  INFO(audit.ran.all());
  CHECK(audit.ran.exit_code == 3);
  CHECK(audit.ran.out.find("not comparable") != std::string::npos);
  CHECK(audit.ran.out.find(why) != std::string::npos);
  REQUIRE(audit.has_report());
  CHECK(audit.aggregate.at("status") == "failed");
  CHECK_FALSE(audit.aggregate.contains("pairs"));
}

}  // namespace

TEST_CASE("H22: a file of two tensors and a mask gives the metrics that frameworks report", "[pairs]") {
  CaseFolder folder;
  const Audit audit = folder.run(h22(), 1);
  INFO(audit.ran.all());
  REQUIRE(audit.ran.exit_code == 0);
  CHECK(audit.aggregate.at("scope") == "user");
  CHECK_FALSE(audit.aggregate.contains("oracle"));
  CHECK_FALSE(audit.aggregate.contains("candidates"));
  const auto& pair = audit.aggregate.at("pairs").at(0);
  CHECK(pair.at("name") == "old_log_probs:rollout_log_probs");
  CHECK(pair.at("drift").at("count") == 4);
  CHECK(pair.at("drift").at("mismatch_count") == 2);
  CHECK(pair.at("drift").at("max_abs") == 1.0);
  const std::vector<std::pair<const char*, double>> right{{"k1", .1875},
                                                          {"k2", .1328125},
                                                          {"k3", .10047621446479593},
                                                          {"k3_reverse", .18677065288261252},
                                                          {"token_mult_prob_error", 1.5005768112866966},
                                                          {"ratio_mean", .9129762144647959},
                                                          {"chi2_token", -.05398586151581475},
                                                          {"ess", .8810920833741887},
                                                          {"prob_pearson", .8795244986415253},
                                                          {"clip_share", .5},
                                                          {"train_ppl", 2.553589458062927},
                                                          {"rollout_ppl", 2.117000016612675}};
  for (const auto& [key, value] : right) {
    INFO(key);
    CHECK(std::abs(metric(audit, key) - value) < 1e-12 * std::max(1.0, std::abs(value)));
  }
  CHECK(audit.ran.out.find("pairs only") != std::string::npos);
}

TEST_CASE("pairs: every metric can be gated, also by a framework's own name", "[pairs]") {
  CaseFolder folder;
  const auto gated = [&](const std::string& gate) {
    const Audit audit = folder.run(h22(), 1, 1, {"--metric-names", "verl", "--gate", gate});
    INFO(audit.ran.all());
    return audit.ran.exit_code;
  };
  CHECK(gated("pairs.old_log_probs:rollout_log_probs.metrics.k3 <= 0.2") == 0);
  CHECK(gated("pairs.old_log_probs:rollout_log_probs.metrics.k3 <= 0.1") == 1);
  CHECK(gated("pairs.0.framework_metrics.rollout_corr/k3_kl <= 0.1") == 1);
  CHECK(gated("pairs.0.mismatch_count == 2") == 0);
  CHECK(gated("pairs.0.strata.logp.0.max_abs >= 0") == 0);
  CHECK(gated("pairs.0.metrics.k4 <= 1") == 2);
}

TEST_CASE("pairs: --pair chooses, and says what there is to choose from", "[pairs]") {
  CaseFolder folder;
  TinyDump three = h22();
  three.f32("ref_log_probs", {5}, train);
  const std::vector<std::string> all{"--recorded", "old_log_probs,rollout_log_probs,ref_log_probs"};
  const Audit every = folder.run(three, 1, 1, all);
  INFO(every.ran.all());
  CHECK(every.aggregate.at("pairs").size() == 3);
  std::vector<std::string> one = all;
  one.insert(one.end(), {"--pair", "ref_log_probs:rollout_log_probs"});
  CHECK(folder.run(three, 1, 1, one).aggregate.at("pairs").size() == 1);
  std::vector<std::string> none = all;
  none.insert(none.end(), {"--pair", "ref_log_probs:nothing"});
  const Audit refused = folder.run(three, 1, 1, none);
  CHECK(refused.ran.exit_code == 2);
  CHECK(refused.ran.err.find("old_log_probs, rollout_log_probs, ref_log_probs") != std::string::npos);
}

TEST_CASE("pairs: the oracle and formulas can be a side where there are logits", "[pairs]") {
  CaseFolder folder;
  TinyDump dump = one_row({0, 1, 2, 3}, 2);
  dump.f32("rollout_logprobs", {1}, {-1.5f});
  const Audit audit =
      folder.run(dump, 1, 1, {"--pair", "oracle:rollout_logprobs", "--pair", "fixed-tree:oracle"});
  INFO(audit.ran.all());
  REQUIRE(audit.ran.exit_code == 0);
  CHECK(std::abs(metric(audit, "k1") - (-1.5 + 1.4401896985611953)) < 1e-6);
  CHECK(audit.aggregate.at("pairs").at(1).at("b") == "oracle");
}

TEST_CASE("pairs: two files about the same tokens are compared", "[pairs]") {
  TwoFiles files;
  const Audit audit = files.run(side("log_probs", train), side("rollout_logprobs", rollout));
  INFO(audit.ran.all());
  REQUIRE(audit.ran.exit_code == 0);
  CHECK(std::abs(metric(audit, "k3") - .10047621446479593) < 1e-12);
  CHECK(audit.aggregate.at("input").at("files").size() == 2);
}

TEST_CASE("pairs: what is not about the same tokens is not comparable, and the first difference is named",
          "[pairs]") {
  TwoFiles files;
  TinyDump targets;
  targets.f32("rollout_logprobs", {1, 5}, rollout)
      .i64("targets", {1, 5}, {4, 8, 42, 16, 23})
      .mask("mask", {1, 5}, {1, 1, 1, 1, 0});
  check_not_comparable(files.run(side("log_probs", train), targets), "first in row 2: 15 and 42");

  TinyDump order;
  order.f32("rollout_logprobs", {1, 5}, rollout)
      .i64("targets", {1, 5}, {4, 15, 8, 16, 23})
      .mask("mask", {1, 5}, {1, 1, 1, 1, 0});
  check_not_comparable(files.run(side("log_probs", train), order), "permutation");

  TinyDump mask;
  mask.f32("rollout_logprobs", {1, 5}, rollout)
      .i64("targets", {1, 5}, {4, 8, 15, 16, 23})
      .mask("mask", {1, 5}, {1, 1, 1, 0, 0});
  check_not_comparable(files.run(side("log_probs", train), mask), "mask values");

  TinyDump count;
  count.f32("rollout_logprobs", {1, 4}, {-1, -2, -3, -4});
  check_not_comparable(files.run(side("log_probs", train), count), "4 values for 5 rows");

  TinyDump keys = side("rollout_logprobs", rollout);
  TinyDump first = side("log_probs", train);
  first.i64("sequence_ids", {1}, {7});
  keys.i64("sequence_ids", {1}, {8});
  check_not_comparable(files.run(first, keys), "sequence_ids");

  for (const char* key : {"policy_version", "checkpoint", "tokenizer", "sequence_ids"}) {
    INFO(key);
    check_not_comparable(files.run(side("log_probs", train).meta(key, "one"),
                                   side("rollout_logprobs", rollout).meta(key, "two")),
                         key);
    CHECK(files.run(side("log_probs", train).meta(key, "one"), side("rollout_logprobs", rollout))
              .ran.exit_code == 0);
  }
}

TEST_CASE("pairs: two files that say nothing about their tokens are compared with a warning", "[pairs]") {
  TwoFiles files;
  TinyDump a, b;
  a.f32("log_probs", {5}, train);
  b.f32("rollout_logprobs", {5}, rollout);
  const Audit bare = files.run(a, b);
  INFO(bare.ran.all());
  CHECK(bare.ran.exit_code == 0);
  CHECK(bare.ran.out.find("nothing says that") != std::string::npos);
  const Audit said = files.run(side("log_probs", train), side("rollout_logprobs", rollout));
  CHECK(said.ran.out.find("nothing says that") == std::string::npos);
}

TEST_CASE("pairs: a target that is masked out may differ", "[pairs]") {
  TwoFiles files;
  TinyDump other;
  other.f32("rollout_logprobs", {1, 5}, rollout)
      .i64("targets", {1, 5}, {4, 8, 15, 16, -100})
      .mask("mask", {1, 5}, {1, 1, 1, 1, 0});
  CHECK(files.run(side("log_probs", train), other).ran.exit_code == 0);
}

TEST_CASE("pairs: a mask speaks for all files, whichever it is in, with logits too", "[pairs]") {
  CaseFolder folder;
  std::vector<float> logits(5 * 4);
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i % 7);
  TinyDump dump, other;
  dump.f32("logits", {5, 4}, logits).i64("targets", {5}, {0, 1, 2, 3, 0}).f32("log_probs", {5}, train);
  other.f32("rollout_logprobs", {5}, {-.5f, -1, -2, 0, 0}).mask("loss_mask", {5}, {1, 1, 1, 0, 0});
  const std::string second = other.write(folder.path("other.safetensors"));
  const Audit audit = folder.run(dump, 1, 1, {"--recorded", "log_probs," + second + ":rollout_logprobs"});
  INFO(audit.ran.all());
  CHECK(audit.aggregate.at("input").at("active_rows") == 3);
  CHECK(audit.aggregate.at("pairs").at(0).at("drift").at("count") == 3);
  CHECK(audit.aggregate.at("pairs").at(0).at("drift").at("max_abs") == 0.0);
  CHECK(audit.aggregate.at("input").at("mask").at("name").get<std::string>().find(":loss_mask") !=
        std::string::npos);
}

TEST_CASE("pairs: an activity that one file states by ignore-index and another by a mask must be one",
          "[pairs]") {
  TwoFiles files;
  TinyDump ignored, masked;
  ignored.f32("log_probs", {1, 5}, train).i64("targets", {1, 5}, {4, -100, 15, 16, -100});
  masked.f32("rollout_logprobs", {1, 5}, rollout).mask("mask", {1, 5}, {1, 1, 1, 1, 0});
  check_not_comparable(files.run(ignored, masked), "mask values");
  TinyDump agreeing;
  agreeing.f32("rollout_logprobs", {1, 5}, rollout).mask("mask", {1, 5}, {1, 0, 1, 1, 0});
  const Audit audit = files.run(ignored, agreeing);
  INFO(audit.ran.all());
  CHECK(audit.ran.exit_code == 0);
  CHECK(audit.aggregate.at("input").at("active_rows") == 3);
}

TEST_CASE("pairs: two tensors of one role in another file are a question, not a shrug", "[pairs]") {
  TwoFiles files;
  TinyDump two = side("rollout_logprobs", rollout);
  two.i64("labels", {1, 5}, {1, 2, 3, 4, 5});
  CHECK(files.run(side("log_probs", train), two).ran.exit_code == 0);  // the same name decides
  TinyDump unclear;
  unclear.f32("rollout_logprobs", {1, 5}, rollout)
      .i64("labels", {1, 5}, {4, 8, 15, 16, 23})
      .i64("target_ids", {1, 5}, {1, 2, 3, 4, 5});
  const Audit audit = files.run(side("log_probs", train), unclear);
  CHECK(audit.ran.exit_code == 3);
  CHECK(audit.ran.out.find("ambiguous") != std::string::npos);
}

TEST_CASE("pairs: token ids may differ where nothing is compared, and row keys come in any whole type",
          "[pairs]") {
  TwoFiles files;
  TinyDump a = side("log_probs", train), b = side("rollout_logprobs", rollout);
  a.i64("input_ids", {1, 5}, {1, 2, 3, 4, 0});
  b.i64("input_ids", {1, 5}, {1, 2, 3, 4, 99});
  CHECK(files.run(a, b).ran.exit_code == 0);
  TinyDump c = side("log_probs", train), d = side("rollout_logprobs", rollout);
  c.add("sample_index", Dtype::U8, {2}, std::vector<std::uint8_t>{0, 1});
  d.add("sample_index", Dtype::U8, {2}, std::vector<std::uint8_t>{1, 0});
  check_not_comparable(files.run(c, d), "permutation");
}

TEST_CASE("pairs: nothing can be compared with itself", "[pairs]") {
  CaseFolder folder;
  CHECK(folder.run(h22(), 1, 1, {"--pair", "old_log_probs:old_log_probs"}).ran.exit_code == 2);
  const std::string path = h22().write(folder.path("dump.safetensors"));
  const std::string again = folder.path("./dump.safetensors");
  const Audit audit = folder.run(path, 1, 1, {"--recorded", "old_log_probs," + again + ":old_log_probs"});
  INFO(audit.ran.all());
  CHECK(audit.ran.exit_code == 3);  // one tensor by two paths is one
}

TEST_CASE("pairs: three dimensions are compared value by value", "[pairs]") {
  CaseFolder folder;
  TinyDump dump;
  dump.f32("log_probs", {1, 2, 2}, {-1, -2, -3, -4}).f32("rollout_logprobs", {1, 2, 2}, {-1, -2, -3, -5});
  CHECK(folder.run(dump, 1).aggregate.at("pairs").at(0).at("drift").at("mismatch_count") == 1);
  TinyDump deep;
  deep.f32("log_probs", {2, 2, 2}, std::vector<float>(8, -1))
      .f32("rollout_logprobs", {2, 2, 2}, std::vector<float>(8, -2));
  const Audit audit = folder.run(deep, 1);
  INFO(audit.ran.all());
  CHECK(audit.ran.exit_code == 0);
}

TEST_CASE("pairs: F64 values that fp32 does not hold are named", "[pairs]") {
  CaseFolder folder;
  TinyDump dump;
  dump.add("log_probs", Dtype::F64, {2}, std::vector<double>{-1, -1.000000001})
      .f32("rollout_logprobs", {2}, {-1, -1});
  CHECK(folder.run(dump, 1).ran.out.find("1 F64 values of log_probs") != std::string::npos);
}

TEST_CASE("pairs: the same values in another order are named as a permutation", "[pairs]") {
  CaseFolder folder;
  TinyDump dump;
  dump.f32("log_probs", {2, 2}, {-1, -2, -3, -4}).f32("rollout_logprobs", {2, 2}, {-1, -3, -2, -4});
  const Audit audit = folder.run(dump, 1);
  INFO(audit.ran.all());
  CHECK(audit.aggregate.at("pairs").at(0).at("permuted") == true);
  CHECK(audit.ran.out.find("another order") != std::string::npos);
}

TEST_CASE("pairs: one file whose tensors differ in length, or with one tensor only, is refused", "[pairs]") {
  CaseFolder folder;
  TinyDump lengths;
  lengths.f32("log_probs", {4}, {-1, -2, -3, -4}).f32("rollout_logprobs", {3}, {-1, -3, -2});
  check_not_comparable(folder.run(lengths, 1), "3 values for 4 rows");
  TinyDump one;
  one.f32("log_probs", {4}, {-1, -2, -3, -4});
  const Audit alone = folder.run(one, 1);
  CHECK(alone.ran.exit_code == 3);
  CHECK(alone.ran.out.find("at least two recorded tensors") != std::string::npos);
}

TEST_CASE("pairs: what needs logits is refused or named, and one rank is enough", "[pairs]") {
  CaseFolder folder;
  CHECK(folder.run(h22(), 1, 1, {"--row-stats"}).ran.exit_code == 2);
  CHECK(folder.run(h22(), 1, 1, {"--require", "tp"}).ran.exit_code == 2);
  const Audit named = folder.run(h22(), 1, 1, {"--temperature", "0.7"});
  CHECK(named.ran.exit_code == 0);
  CHECK(named.ran.out.find("--temperature has no effect here") != std::string::npos);
  if (skipped_without_mpirun()) return;
  const Audit two = folder.run(h22(), 2);
  CHECK(two.ran.exit_code == 2);
  CHECK(two.ran.all().find("has no logits") != std::string::npos);
}

TEST_CASE("pairs: tokens without finite values cannot pass for agreement", "[pairs]") {
  CaseFolder folder;
  const float nan = std::nanf("");
  TinyDump dump;
  dump.f32("log_probs", {2}, {nan, nan}).f32("rollout_logprobs", {2}, {-1, -2});
  const Audit audit = folder.run(dump, 1);
  INFO(audit.ran.all());
  CHECK(audit.ran.exit_code == 3);
  CHECK(audit.ran.out.find("no token could be compared") != std::string::npos);
}

TEST_CASE("pairs: two reports of pairs can be compared", "[pairs]") {
  CaseFolder folder;
  const Audit before = folder.run(h22(), 1);
  TinyDump worse;
  worse.f32("old_log_probs", {1, 5}, train).f32("rollout_log_probs", {1, 5}, {-.5f, -1.25f, -1, -2, -.1f});
  worse.mask("response_mask", {1, 5}, {1, 1, 1, 1, 0});
  const Audit after = folder.run(worse, 1);
  CHECK(drift_audit({"compare", before.folder, before.folder}).exit_code == 0);
  CHECK(drift_audit({"compare", before.folder, after.folder}).exit_code == 1);
}

TEST_CASE("H19: zeros that nobody filled are named, all of them, against the oracle and in pairs",
          "[pairs]") {
  CaseFolder folder;
  std::vector<float> logits;
  for (int r = 0; r < 40; ++r) logits.insert(logits.end(), {0, 1, 2, 3});
  TinyDump dump;
  dump.f32("logits", {40, 4}, logits).i64("targets", {40}, std::vector<std::int64_t>(40, 1));
  dump.f32("rollout_logprobs", {40}, std::vector<float>(40, 0));
  const Audit audit = folder.run(dump, 1, 1, {"--worst", "2"});
  INFO(audit.ran.all());
  CHECK(audit.ran.out.find(
            "40 values of rollout_logprobs are exactly 0 where the oracle is below -0.001: zero-filled?") !=
        std::string::npos);
  TinyDump pair;
  pair.f32("log_probs", {3}, {-1, -2, -3}).f32("rollout_logprobs", {3}, {-1, 0, -3});
  CHECK(folder.run(pair, 1).ran.out.find(
            "1 value of rollout_logprobs is exactly 0 where log_probs is below") != std::string::npos);
}

}  // namespace drift
