// compare OLD NEW: the verdict's rule, what is said, and which token comes first.

#include "report/compare.hpp"

#include <bit>
#include <cmath>

#include "base/error.hpp"
#include "report/to_json.hpp"
#include "report/tokens.hpp"
#include "sample_reports.hpp"
#include "support/catch.hpp"
#include "temp_folder.hpp"

using namespace drift;

namespace {

constexpr std::size_t rows = 8;

struct Tokens {
  std::vector<std::uint8_t> active = std::vector<std::uint8_t>(rows, 1);
  std::vector<std::int64_t> target = std::vector<std::int64_t>(rows, 150);
  std::vector<std::int32_t> owner = std::vector<std::int32_t>(rows, 1);
  std::vector<float> lse = std::vector<float>(rows, 12.5f), logp = std::vector<float>(rows, -1.25f);
  std::string logp_name = "fixed-tree_logp";

  void write(const std::string& folder) const {
    write_tokens(folder + "/tokens.safetensors",
                 {active, target, owner, {{"fixed-tree_lse", lse}, {logp_name, logp}}});
  }
};

struct Pair {
  TempFolder folder;
  AggregateReport before = samples::passed(), after = samples::passed();
  Tokens old_tokens, new_tokens;
  bool with_tokens = true;

  void reset() { before = after = samples::passed(); }

  CompareResult compare() {
    put(folder / "old/aggregate.json", to_json(before));
    put(folder / "new/aggregate.json", to_json(after));
    if (with_tokens) {
      old_tokens.write(folder / "old");
      new_tokens.write(folder / "new");
    }
    return compare_reports(folder / "old", folder / "new");
  }
};

void check(const CompareResult& result, int exit_code, const std::string& verdict,
           const std::vector<std::string>& parts) {
  INFO(result.text);
  CHECK(result.exit_code == exit_code);
  CHECK(result.text.find("verdict        " + verdict + "\n") != std::string::npos);
  CHECK(result.text.ends_with("\n"));
  for (const std::string& part : parts) {
    INFO("wanted: " << part);
    CHECK(result.text.find(part) != std::string::npos);
  }
}

Fault fault_of(const std::string& before, const std::string& after) {
  try {
    compare_reports(before, after);
  } catch (const Error& error) {
    return error.fault();
  }
  return Fault::internal;
}

}  // namespace

TEST_CASE("compare: a report with itself is the same") {
  Pair pair;
  check(pair.compare(), 0, "same",
        {"status         both pass (exit 0)", "inputs         same bits: 8 rows, 3 active",
         "configuration  same", "environment    same", "gates          none flipped, of 2",
         "first token    none", "digests        equal: oracle lse, oracle logp, fixed-tree lse",
         "rule: worse ="});
  check(compare_reports(pair.folder / "old/aggregate.json", pair.folder / "old"), 0, "same", {});
}

TEST_CASE("compare: a status that falls is worse, one that rises is better") {
  Pair pair;
  pair.after = samples::drifted();
  check(pair.compare(), 1, "worse",
        {"OLD pass (exit 0)", "NEW drift (exit 1)", "worse:  status pass -> drift",
         "worse:  gate candidates.fixed-tree.lse now fails",
         "candidates.fixed-tree.lse now fails: 1e-06 against 1e-05"});
  std::swap(pair.before, pair.after);
  check(pair.compare(), 0, "better",
        {"better: status drift -> pass", "better: gate candidates.fixed-tree.lse passes again"});
  pair.before = samples::drifted();
  pair.after = samples::nonfinite();
  check(pair.compare(), 1, "worse",
        {"status drift -> failed", "in phase \"check the values\": 2 active rows"});
}

TEST_CASE("compare: larger drift of the same inputs is worse, smaller is better") {
  Pair pair;
  pair.after.recorded->front().vs.front().second.drift.max_abs = std::nextafter(1e-6, 1.0);
  check(pair.compare(), 1, "worse",
        {"worse:  rollout_logprobs vs oracle: max_abs 1e-06 -> 1e-06 (+2.12e-22)"});
  std::swap(pair.before, pair.after);
  check(pair.compare(), 0, "better", {"better: rollout_logprobs vs oracle: max_abs"});
}

TEST_CASE("compare: one thing worse outweighs all that is better") {
  Pair pair;
  pair.after.candidates->front().lse.drift.max_abs = 0;
  pair.after.candidates->front().logp.drift.max_abs = 1;
  check(pair.compare(), 1, "worse",
        {"worse:  fixed-tree logp: max_abs 1e-06 -> 1\n", "better: fixed-tree lse: max_abs 1e-06 -> 0\n"});
}

TEST_CASE("compare: NaN and rows that drop out do not pass for small drift") {
  Pair pair;
  pair.after.candidates->front().lse.drift.max_abs = samples::nan;
  check(pair.compare(), 1, "worse", {"fixed-tree lse: max_abs 1e-06 -> nan"});
  pair.after = pair.before;
  pair.after.candidates->front().lse.drift.max_abs = 0;
  pair.after.candidates->front().lse.drift.nonfinite = 1;
  check(pair.compare(), 1, "worse", {"worse:  fixed-tree lse: nonfinite 0 -> 1"});
}

TEST_CASE("compare: no name breaks a line") {
  Pair pair;
  pair.after.recorded->front().name = "x\nverdict        same";
  check(pair.compare(), 1, "worse", {"x\\x0averdict        same vs oracle"});
}

TEST_CASE("compare: fewer rows are worse, however small their drift") {
  Pair pair;
  Drift& drift = pair.after.candidates->front().lse.drift;
  drift.max_abs = 0;
  drift.count = 2;
  drift.nonfinite = 1;
  CompareResult result = pair.compare();
  check(result, 1, "worse",
        {"worse:  fixed-tree lse: count 3 -> 2\n", "worse:  fixed-tree lse: nonfinite 0 -> 1\n"});
  CHECK(result.text.find("better:") == std::string::npos);
  drift = samples::no_rows(3);
  result = pair.compare();
  check(result, 1, "worse", {"worse:  fixed-tree lse: max_abs 1e-06 -> nan\n"});
  CHECK(result.text.find("better:") == std::string::npos);
  std::swap(pair.before, pair.after);
  check(pair.compare(), 0, "better",
        {"better: fixed-tree lse: nonfinite 3 -> 0\n", "better: fixed-tree lse: max_abs nan -> 1e-06\n"});
}

TEST_CASE("compare: drift stands in columns, three digits a number") {
  Pair pair;
  pair.before.candidates->pop_back();
  pair.before.recorded->pop_back();
  pair.after.recorded->pop_back();
  pair.after.candidates->front().lse.drift.max_abs = 0.00123456789;
  pair.after.candidates->front().lse.drift.mismatch_count = 3;
  pair.after.candidates->back().lse.drift.count = 12345;
  const std::string text = pair.compare().text;
  INFO(text);
  const auto line = [&](const std::string& part) {
    const std::size_t at = text.find(part);
    REQUIRE(at != std::string::npos);
    const std::size_t begin = text.rfind('\n', at) + 1;
    return text.substr(begin, text.find('\n', at) - begin);
  };
  const std::string heading = line("drift (nats)");
  const auto under = [&](const std::string& row, const std::string& column) {
    const std::size_t end = heading.find(column) + column.size();
    return row.substr(0, end);
  };
  const std::string lse = line("fixed-tree lse  ");
  CHECK(under(lse, "max_abs").ends_with("1e-06 -> 0.00123"));
  CHECK(under(lse, "mean_abs").ends_with("  5e-07"));
  CHECK(under(lse, "differ").ends_with("2 -> 3"));
  CHECK(under(lse, "of").ends_with(" 3"));
  CHECK(under(lse, "not finite").ends_with(" 0"));
  CHECK(under(line("megatron-unfused lse  "), "max_abs").ends_with("none -> 2e-06"));
  CHECK(under(line("megatron-unfused lse  "), "of").ends_with("none -> 12,345"));
}

TEST_CASE("compare: different inputs are said aloud and their drift is not judged") {
  Pair pair;
  pair.after.input->logits->digest = std::string(32, 'd');
  pair.after.candidates->front().lse.drift.max_abs = 1;
  check(pair.compare(), 0, "same", {"NOT COMPARABLE: the inputs differ", "logits.digest: \"bbbb"});
  pair.after.status = "drift";
  pair.after.exit_code = 1;
  check(pair.compare(), 1, "worse", {"NOT COMPARABLE", "status pass -> drift"});
}

TEST_CASE("compare: a file of another name with the same tensors is the same input") {
  Pair pair;
  pair.after.input->files[0].name = "copy.safetensors";
  pair.after.input->logits->name = "student_logits";
  check(pair.compare(), 0, "same", {"same bits", "files differ in name, size or header"});
}

TEST_CASE("compare: a run that failed early is worse, and says why") {
  Pair pair;
  pair.after = samples::bare();
  pair.with_tokens = false;
  check(pair.compare(), 1, "worse",
        {"NEW failed before the input was read", "No such file or directory",
         "first token    unknown: no tokens.safetensors beside either report"});
  pair.before = samples::bare();
  check(pair.compare(), 0, "same", {"both runs failed before"});
}

TEST_CASE("compare: configuration and environment that changed") {
  Pair pair;
  pair.after.case_values[1].second = std::int64_t{4};
  pair.after.case_values.emplace_back("worst", std::int64_t{3});
  pair.after.environment.variables["NCCL_ALGO"] = "Tree";
  pair.after.environment.versions.erase("mpi");
  pair.after.environment.gpu_models = {"a GPU"};
  check(pair.compare(), 0, "same",
        {"tp: 2 -> 4", "worst: none -> 3", "NCCL_ALGO: \"Ring\" -> \"Tree\"", "mpi: \"4.1.4\" -> none",
         "gpu_models: [] -> [\"a GPU\"]"});
}

TEST_CASE("compare: digests that differ are shown whole") {
  Pair pair;
  pair.after.candidates->front().digests.logp = samples::hex_c;
  check(pair.compare(), 0, "same", {"fixed-tree logp: " + samples::hex_b + " -> " + samples::hex_c});
}

TEST_CASE("compare: what drops out is worse, unless it is a formula that NEW does not ask for") {
  Pair pair;
  pair.after.candidates->pop_back();
  check(pair.compare(), 0, "same",
        {"megatron-unfused lse: no longer compared, NEW did not ask for that formula"});
  for (const std::vector<std::string>& asked :
       {std::vector<std::string>{"fixed-tree", "megatron-unfused"}, {"all"}}) {
    pair.after.case_values[3].second = asked;
    check(pair.compare(), 1, "worse", {"worse:  candidate megatron-unfused is no longer computed\n"});
  }
  pair.after.rejected->emplace_back("megatron-unfused", "V is odd");
  check(pair.compare(), 1, "worse",
        {"candidate megatron-unfused is no longer computed (rejected: V is odd)"});
  pair.reset();
  pair.after.candidates->clear();
  check(pair.compare(), 1, "worse", {"worse:  candidate fixed-tree is no longer computed\n"});
  pair.reset();
  pair.after.recorded->erase(pair.after.recorded->begin());
  check(pair.compare(), 1, "worse", {"worse:  recorded rollout_logprobs is no longer compared\n"});
  pair.reset();
  pair.after.recorded->front().vs.pop_back();
  check(pair.compare(), 1, "worse",
        {"worse:  recorded rollout_logprobs is no longer compared with fixed-tree\n"});
  pair.reset();
  pair.before = pair.after = samples::nonfinite();
  pair.after.candidates.reset();
  pair.after.recorded.reset();
  pair.after.gates.reset();
  check(pair.compare(), 1, "worse", {"worse:  NEW failed before anything was compared\n"});
}

TEST_CASE(
    "compare: a gate that is no longer checked is worse, unless it is a limit of a formula not asked for") {
  Pair pair;
  pair.after.gates->clear();
  check(pair.compare(), 1, "worse",
        {"worse:  gate candidates.fixed-tree.lse is no longer checked\n",
         "worse:  gate recorded.rollout_logprobs.vs.oracle.max_abs < 1e-5 is no longer checked\n"});
  pair.reset();
  pair.after.gates->pop_back();
  check(pair.compare(), 1, "worse",
        {"worse:  gate recorded.rollout_logprobs.vs.oracle.max_abs < 1e-5 is no longer"});
  pair.reset();
  pair.before.gates->push_back({"candidates.megatron-unfused.lse", 1e-5, 1e-6, 0, true, "derived"});
  check(pair.compare(), 0, "same",
        {"candidates.megatron-unfused.lse: no longer there, was 1e-06 against 1e-05; NEW did not "
         "ask for megatron-unfused"});
}

TEST_CASE("compare: gates that appear and vanish") {
  Pair pair;
  pair.after.gates->push_back({"new", 0, 1, 1, false, "option"});
  check(pair.compare(), 1, "worse",
        {"gate new is new and fails", "new is new and fails: none -> 1 against 0, 1 row not finite"});
  pair.after.gates->back().passed = true;
  check(pair.compare(), 0, "same", {"none flipped, of 3"});
  std::swap(pair.before, pair.after);
  check(pair.compare(), 1, "worse",
        {"new: no longer there, was 1 against 0", "gate new is no longer checked"});
}

TEST_CASE("compare: the first differing token is the smallest row, whatever the column") {
  Pair pair;
  pair.new_tokens.lse[6] = 13.0f;
  pair.new_tokens.logp[5] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(-1.25f) + 1);
  pair.new_tokens.logp[7] = 0;
  pair.new_tokens.owner.assign(rows, 0);
  check(pair.compare(), 0, "same",
        {"first token    row 5, position [0, 5], column fixed-tree_logp, target 150, owner TP rank 1 -> 0",
         "OLD -1.25 0xbfa00000, NEW -1.2500001192092896 0xbfa00001",
         "NEW - OLD = -1.1920928955078125e-07, 1 ulp",
         "differing rows of 8: fixed-tree_lse 1 (first 6), fixed-tree_logp 2 (first 5)"});
}

TEST_CASE("compare: zeros of different sign and NaNs of different payload differ, equal NaNs do not") {
  Pair pair;
  pair.old_tokens.lse[2] = pair.new_tokens.lse[2] = std::bit_cast<float>(0x7fc00000u);
  check(pair.compare(), 0, "same", {"first token    none"});
  pair.new_tokens.lse[2] = std::bit_cast<float>(0x7fc00001u);
  check(pair.compare(), 0, "same", {"row 2", "OLD nan 0x7fc00000, NEW nan 0x7fc00001"});
  pair.old_tokens.lse[1] = 0.0f;
  pair.new_tokens.lse[1] = -0.0f;
  check(pair.compare(), 0, "same", {"row 1", "0x00000000", "0x80000000", ", 0 ulp"});
}

TEST_CASE("compare: targets, masks and columns that only one report has") {
  Pair pair;
  pair.new_tokens.target[3] = 151;
  pair.new_tokens.active[4] = 0;
  pair.new_tokens.logp_name = "megatron-unfused_logp";
  check(pair.compare(), 0, "same",
        {"row 3, position [0, 3], column target, target 150 -> 151", "active 1 (first 4)",
         "columns of one report only: fixed-tree_logp (OLD), megatron-unfused_logp (NEW)"});
  pair.new_tokens = Tokens{};
  for (auto* column : {&pair.new_tokens.lse, &pair.new_tokens.logp}) column->resize(2);
  pair.new_tokens.active.resize(2);
  pair.new_tokens.target.resize(2);
  pair.new_tokens.owner.resize(2);
  check(pair.compare(), 0, "same", {"not comparable: 8 rows in OLD, 2 in NEW"});
}

TEST_CASE("compare: pairs are judged like recorded tensors, with and without logits") {
  for (const auto& sample : {samples::pairs_alone, samples::with_extras}) {
    Pair pair;
    pair.before = pair.after = sample();
    const std::string name = "pair log_probs:rollout_logprobs";
    check(pair.compare(), 0, "same", {name, "same bits: 8 rows"});
    pair.after.pairs->front().compared.drift.max_abs = 1;
    check(pair.compare(), 1, "worse", {"worse:  " + name + ": max_abs 1e-06 -> 1\n"});
    std::swap(pair.before, pair.after);
    check(pair.compare(), 0, "better", {"better: " + name + ": max_abs 1 -> 1e-06\n"});
    pair.before = pair.after = sample();
    pair.after.pairs->front().compared.drift.nonfinite = 1;
    check(pair.compare(), 1, "worse", {"worse:  " + name + ": nonfinite 0 -> 1\n"});
    pair.before = pair.after = sample();
    pair.after.pairs->front().permuted = true;
    check(pair.compare(), 1, "worse", {"worse:  " + name + ": one is a permutation of the other\n"});
    std::swap(pair.before, pair.after);
    check(pair.compare(), 0, "better", {"better: " + name + ": no permutation any more\n"});
    pair.before = pair.after = sample();
    pair.after.pairs->erase(pair.after.pairs->begin());
    check(pair.compare(), 1, "worse", {"worse:  " + name + " is no longer compared\n", "1e-06 -> none"});
    pair.before = pair.after = sample();
    pair.after.input->targets->digest = samples::hex_a;
    pair.after.pairs->front().compared.drift.max_abs = 1;
    check(pair.compare(), 0, "same", {"NOT COMPARABLE", "targets.digest"});
  }
}

TEST_CASE("compare: a pair with a formula may go with the formula") {
  Pair pair;
  pair.before.pairs = std::vector{samples::pair()};
  pair.before.pairs->front().name = "megatron-unfused:rollout_logprobs";
  pair.before.pairs->front().a = "megatron-unfused";
  check(pair.compare(), 0, "same",
        {"pair megatron-unfused:rollout_logprobs: no longer compared, NEW did not ask"});
  pair.after.case_values[3].second = std::vector<std::string>{"all"};
  check(pair.compare(), 1, "worse", {"pair megatron-unfused:rollout_logprobs is no longer compared\n"});
}

TEST_CASE("compare: a run without logits after one with logits is worse, and a failure of pairs says so") {
  Pair pair;
  pair.after = samples::pairs_alone();
  check(pair.compare(), 1, "worse", {"worse:  candidate fixed-tree is no longer computed", "NOT COMPARABLE"});
  pair.before = samples::pairs_alone();
  pair.after = samples::bare();
  check(pair.compare(), 1, "worse", {"worse:  NEW failed before anything was compared\n"});
}

TEST_CASE("compare: tokens without targets and owners") {
  Pair pair;
  pair.before = pair.after = samples::pairs_alone();
  for (Tokens* tokens : {&pair.old_tokens, &pair.new_tokens}) tokens->owner.clear();
  pair.new_tokens.lse[6] = 13.0f;
  check(pair.compare(), 0, "same", {"row 6, position [0, 6], column fixed-tree_lse, target 150\n"});
  pair.new_tokens.target.clear();
  check(pair.compare(), 0, "same", {"target 150 -> none\n", "columns of one report only: target (OLD)"});
  pair.old_tokens.target.clear();
  check(pair.compare(), 0, "same", {"row 6, position [0, 6], column fixed-tree_lse\n"});
}

TEST_CASE("compare: folders of reports are matched by name") {
  const TempFolder folder;
  AggregateReport worse = samples::passed();
  worse.candidates->front().lse.drift.max_abs = 1;
  for (const char* name : {"a", "b", "gone"})
    put(folder / ("old/" + std::string(name) + "/aggregate.json"), to_json(samples::passed()));
  for (const char* name : {"a", "b", "more"})
    put(folder / ("new/" + std::string(name) + "/aggregate.json"), to_json(samples::passed()));
  put(folder / "new/gone/rank-0000.json", "{}");  // a run that died: no verdict
  CompareResult result = compare_reports(folder / "old", folder / "new");
  INFO(result.text);
  CHECK(result.exit_code == 1);
  CHECK(result.text.find(
            "all reports\n  a  same\n  b  same\n  gone  worse: no report in NEW\n  more  only in NEW\n") !=
        std::string::npos);
  put(folder / "new/gone/aggregate.json", to_json(samples::passed()));
  CHECK(compare_reports(folder / "old", folder / "new").exit_code == 0);
  put(folder / "new/b/aggregate.json", to_json(worse));
  result = compare_reports(folder / "old", folder / "new");
  CHECK(result.exit_code == 1);
  CHECK(result.text.find("  b  worse\n") != std::string::npos);
}

TEST_CASE("compare: what cannot be compared says who has to act") {
  const TempFolder folder;
  put(folder / "good/aggregate.json", to_json(samples::passed()));
  put(folder / "set/a/aggregate.json", to_json(samples::passed()));
  put(folder / "other/b/aggregate.json", to_json(samples::passed()));
  put(folder / "empty/x.txt", "x");
  put(folder / "torn/aggregate.json", to_json(samples::passed()).substr(0, 500));
  put(folder / "blank/aggregate.json", "");
  put(folder / "list/aggregate.json", "[]");
  put(folder / "rank/aggregate.json", to_json(samples::rank()));
  put(folder / "future/aggregate.json", R"({"schema": {"name": "drift-audit/aggregate", "version": "2.0"}})");
  put(folder / "hollow/aggregate.json", R"({"schema": {"name": "drift-audit/aggregate", "version": "1.0"}})");
  CHECK(fault_of(folder / "good", folder / "missing") == Fault::io);
  CHECK(fault_of(folder / "missing", folder / "good") == Fault::io);
  CHECK(fault_of(folder / "good", folder / "empty") == Fault::io);
  CHECK(fault_of(folder / "good", folder / "torn") == Fault::input);
  CHECK(fault_of(folder / "good", folder / "blank") == Fault::input);
  CHECK(fault_of(folder / "list", folder / "good") == Fault::input);
  CHECK(fault_of(folder / "rank", folder / "good") == Fault::input);
  CHECK(fault_of(folder / "good", folder / "future") == Fault::input);
  CHECK(fault_of(folder / "good", folder / "hollow") == Fault::input);
  CHECK(fault_of(folder / "good", folder / "set") == Fault::usage);
  CHECK(fault_of(folder / "set", folder / "good") == Fault::usage);
  CHECK(fault_of(folder / "set", folder / "other") == Fault::usage);
  put(folder / "good/tokens.safetensors", "garbage");
  put(folder / "other/b/tokens.safetensors", "garbage");
  CHECK(fault_of(folder / "good", folder / "other/b") == Fault::input);
}
