// Which tensor is what, by list and by name; and what is refused because a wrong number would come out.

#include "dump/roles.hpp"

#include "dump/dump_writer.hpp"
#include "dump/shifted_targets.hpp"
#include "scratch.hpp"

namespace drift {
namespace {

struct Maker {
  Scratch scratch;
  std::vector<std::byte> zeros = std::vector<std::byte>(4096);

  DumpFile operator()(const std::vector<TensorSpec>& specs, const Metadata& metadata = {}) const {
    std::vector<TensorData> tensors;
    for (const TensorSpec& spec : specs) {
      std::int64_t size = bits(spec.dtype);
      for (const std::int64_t dimension : spec.shape) size *= dimension;
      tensors.push_back(
          {spec.name, spec.dtype, spec.shape, std::span(zeros).first(static_cast<std::size_t>(size / 8))});
    }
    write_dump(scratch.path("d"), tensors, metadata);
    return DumpFile::open(scratch.path("d"));
  }
};

const TensorSpec logits{"logits", Dtype::BF16, {2, 3, 5}}, targets{"targets", Dtype::I64, {2, 3}};

std::string refusal(const DumpFile& dump, const RoleNames& names = {}) {
  const Error error = error_of([&] { find_roles(dump, names); });
  CHECK(error.fault() == Fault::input);
  CHECK(std::string_view(error.what()).starts_with(dump.path() + ": "));
  return error.what();
}

TEST_CASE("roles: found by the lists, in [B, S, V] and [T, V]") {
  const Maker make;
  const Roles roles = find_roles(make({logits,
                                       targets,
                                       {"loss_mask", Dtype::F32, {6}},
                                       {"old_log_probs", Dtype::F32, {2, 3}},
                                       {"rollout_logprobs", Dtype::BF16, {6, 1}},
                                       {"log_probs", Dtype::F32, {5}}}),
                                 {});
  CHECK(roles.batch == 2);
  CHECK(roles.sequence == 3);
  CHECK(roles.rows == 6);
  CHECK(roles.padded_vocab == 5);
  CHECK(roles.logits.name == "logits");
  CHECK(roles.targets.name == "targets");
  REQUIRE(roles.mask.has_value());
  CHECK(roles.mask->name == "loss_mask");
  REQUIRE(roles.recorded.size() == 2);
  CHECK(roles.recorded[0].name == "old_log_probs");
  CHECK(roles.recorded[1].name == "rollout_logprobs");
  REQUIRE(roles.warnings.size() == 1);  // log_probs of another length is said, not skipped in silence
  CHECK(contains(roles.warnings[0], "\"log_probs\" F32 [5] is not compared: it has 5 values for 6 rows"));

  const Roles flat = find_roles(make({{"raw_logits", Dtype::F64, {4, 3}}, {"labels", Dtype::U32, {4}}}), {});
  CHECK(flat.batch == 1);
  CHECK(flat.sequence == 4);
  CHECK_FALSE(flat.mask.has_value());
  CHECK(flat.recorded.empty());
  CHECK(flat.why.size() == 4);
}

TEST_CASE("roles: two tensors of one list are ambiguous, a name decides") {
  const Maker make;
  const DumpFile dump = make({logits,
                              {"raw_logits", Dtype::F32, {6, 5}},
                              targets,
                              {"labels", Dtype::I32, {6}},
                              {"mask", Dtype::BOOL, {6}},
                              {"response_mask", Dtype::BOOL, {2, 3}}});
  CHECK(contains(refusal(dump),
                 "the logits is ambiguous: seen \"logits\" BF16 [2, 3, 5], \"raw_logits\" F32 [6, 5]"));
  RoleNames names{.logits = "raw_logits"};
  CHECK(contains(refusal(dump, names), "--targets"));
  names.targets = "labels";
  CHECK(contains(refusal(dump, names), "name it with --mask"));
  names.mask = "mask";
  const Roles roles = find_roles(dump, names);
  CHECK(roles.logits.name == "raw_logits");
  CHECK(roles.targets.name == "labels");
  CHECK(roles.mask->name == "mask");
  names.mask = "nope";
  CHECK(contains(refusal(dump, names), "no tensor \"nope\" (--mask), the file has: "));
}

TEST_CASE("roles: missing tensors are named with the list and what is there") {
  const Maker make;
  CHECK(contains(refusal(make({targets})),
                 "no logits: wanted one of logits, vocab_parallel_logits, raw_logits"));
  CHECK(contains(refusal(make({targets})), "\"targets\" I64 [2, 3]"));
  CHECK(contains(refusal(make({logits})), "no targets: wanted one of target_ids, targets, labels"));
  CHECK(contains(refusal(make({})), "the file has: no tensors"));
}

TEST_CASE("roles: token ids are targets only when asked") {
  const Maker make;
  const DumpFile dump = make({logits, {"input_ids", Dtype::I64, {2, 3}}});
  CHECK(contains(refusal(dump), "--targets-are input-ids"));
  CHECK(find_roles(dump, {.targets_are_input_ids = true}).targets.name == "input_ids");
  // Both kinds: the shifted one without the option, a question with it.
  const DumpFile both = make({logits, targets, {"tokens", Dtype::I64, {2, 3}}});
  CHECK(find_roles(both, {}).targets.name == "targets");
  CHECK(contains(refusal(both, {.targets_are_input_ids = true}), "ambiguous"));
  CHECK(find_roles(both, {.targets = "tokens", .targets_are_input_ids = true}).targets.name == "tokens");
}

TEST_CASE("roles: shifted targets never cross a sequence") {
  const std::vector<std::int64_t> ids{1, 2, 3, 4, 5, 6};
  CHECK(shifted_targets(ids, 2, 3, -100) == std::vector<std::int64_t>{2, 3, -100, 5, 6, -100});
  CHECK(shifted_targets(ids, 6, 1, -1) == std::vector<std::int64_t>(6, -1));
  CHECK(shifted_targets(ids, 1, 6, -1) == std::vector<std::int64_t>{2, 3, 4, 5, 6, -1});
  CHECK(error_of([&] { shifted_targets(ids, 2, 2, -1); }).fault() == Fault::internal);
}

TEST_CASE("roles: dtypes and shapes that cannot be right are refused with the reason") {
  const Maker make;
  CHECK(contains(refusal(make({{"logits", Dtype::F8_E4M3, {6, 5}}, targets})), "depends on scales"));
  CHECK(contains(refusal(make({{"logits", Dtype::F4, {6, 4}}, targets})), "depends on scales"));
  CHECK(contains(refusal(make({{"logits", Dtype::I32, {6, 5}}, targets})), "not real floating-point"));
  CHECK(contains(refusal(make({{"logits", Dtype::C64, {6, 5}}, targets})), "not real floating-point"));
  CHECK(contains(refusal(make({{"logits", Dtype::F32, {30}}, targets})), "wanted [T, V] or [B, S, V]"));
  CHECK(
      contains(refusal(make({{"logits", Dtype::F32, {1, 2, 3, 5}}, targets})), "wanted [T, V] or [B, S, V]"));
  CHECK(contains(refusal(make({{"logits", Dtype::F32, {6, 0}}, targets})), "are empty"));
  CHECK(contains(refusal(make({{"logits", Dtype::F32, {0, 5}}, {"targets", Dtype::I64, {0}}})), "are empty"));
  CHECK(contains(refusal(make({logits, {"targets", Dtype::F32, {2, 3}}})), "wanted I32, I64 or U32"));
  CHECK(contains(refusal(make({logits, {"targets", Dtype::U64, {2, 3}}})), "wanted I32, I64 or U32"));
  CHECK(contains(refusal(make({logits, {"targets", Dtype::I64, {2, 2}}})),
                 "does not match the logits' rows, wanted [2, 3]"));
  CHECK(contains(refusal(make({logits, {"targets", Dtype::I64, {3, 2}}})), "does not match"));  // transposed
  CHECK(contains(refusal(make({logits, targets, {"mask", Dtype::BOOL, {5}}})),
                 "mask \"mask\" BOOL [5] does not match"));
}

TEST_CASE("roles: --recorded names those and only those, and each must match") {
  const Maker make;
  const DumpFile dump = make({logits,
                              targets,
                              {"mine", Dtype::F64, {6}},
                              {"old_log_probs", Dtype::F32, {2, 3}},
                              {"short", Dtype::F32, {5}},
                              {"whole", Dtype::I32, {6}}});
  const Roles roles = find_roles(dump, {.recorded = {"mine", "mine"}});
  REQUIRE(roles.recorded.size() == 1);
  CHECK(roles.recorded[0].name == "mine");
  CHECK(contains(refusal(dump, {.recorded = {"mine", "short"}}),
                 "\"short\" F32 [5] cannot be compared: it has 5 values for 6"));
  CHECK(contains(refusal(dump, {.recorded = {"whole"}}), "wanted BF16, F16, F32 or F64"));
  CHECK(contains(refusal(dump, {.recorded = {"gone"}}), "no tensor \"gone\" (--recorded)"));
  const DumpFile turned = make({logits, targets, {"old_log_probs", Dtype::F32, {3, 2}}});
  CHECK(contains(refusal(turned, {.recorded = {"old_log_probs"}}), "does not match the logits' rows"));
}

TEST_CASE("roles: a known name that cannot be log-probs is left out with a warning, and the audit goes on") {
  const Maker make;
  const auto warning = [&](const TensorSpec& odd) {
    const Roles roles =
        find_roles(make({logits, targets, odd, {"rollout_logprobs", Dtype::F32, {2, 3}}}), {});
    REQUIRE(roles.recorded.size() == 1);
    CHECK(roles.recorded[0].name == "rollout_logprobs");
    REQUIRE(roles.warnings.size() == 1);
    return roles.warnings[0];
  };
  CHECK(contains(warning({"log_probs", Dtype::F32, {3, 2}}),
                 "\"log_probs\" F32 [3, 2] is not compared: its shape"));
  CHECK(contains(warning({"log_probs", Dtype::I64, {2, 3}}), "is not compared: it has the wrong type"));
  CHECK(contains(warning({"log_probs", Dtype::F32, {2, 4}}), "is not compared: it has 8 values for 6 rows"));
}

TEST_CASE("roles: token ids by a typed name are a question too, until --targets-are answers it") {
  const Maker make;
  const DumpFile dump = make({logits, targets, {"input_ids", Dtype::I64, {2, 3}}});
  CHECK(contains(refusal(dump, {.targets = "input_ids"}), "give --targets-are input-ids"));
  CHECK(find_roles(dump, {.targets = "input_ids", .targets_are_typed = true}).targets.name == "input_ids");
  CHECK(find_roles(dump, {.targets = "targets"}).targets.name == "targets");
}

TEST_CASE("roles: what would give a wrong number cannot be audited yet") {
  const Maker make;
  CHECK(contains(refusal(make({logits, targets, {"cu_seqlens_q_padded", Dtype::I32, {3}}})),
                 "packed sequences"));
  const Roles roles = find_roles(make({logits, targets, {"position_ids", Dtype::I64, {2, 3}}}), {});
  REQUIRE(roles.warnings.size() == 1);
  CHECK(contains(roles.warnings[0], "position_ids is not used"));
}

TEST_CASE("roles: a temperature per row or per sequence, and nothing else") {
  const Maker make;
  const auto with = [&](const TensorSpec& temperature) { return make({logits, targets, temperature}); };
  CHECK(find_roles(with({"temperature", Dtype::F32, {6}}), {}).temperature->name == "temperature");
  CHECK(find_roles(with({"temperatures", Dtype::BF16, {2, 3}}), {}).temperature.has_value());
  CHECK(find_roles(with({"temperatures", Dtype::F32, {2}}), {}).temperature.has_value());
  CHECK(contains(refusal(with({"temperature", Dtype::F32, {3}})), "one a sequence, [2]"));
  CHECK(contains(refusal(with({"temperature", Dtype::I32, {6}})), "wrong type"));
}

TEST_CASE("roles: kept sets come as ids with offsets, as ids filled up, or as a mask") {
  const Maker make;
  const TensorSpec offsets{"kept_offsets", Dtype::I32, {7}};
  CHECK(find_roles(make({logits, targets, {"kept_ids", Dtype::I32, {9}}, offsets}), {}).has_kept_sets());
  CHECK(find_roles(make({logits, targets, {"kept_ids", Dtype::I64, {2, 3, 4}}}), {}).has_kept_sets());
  CHECK(find_roles(make({logits, targets, {"kept_mask", Dtype::BOOL, {2, 3, 5}}}), {}).has_kept_sets());
  CHECK(find_roles(make({logits, targets, {"kept_mask", Dtype::U8, {2, 3, 4}}}), {}).has_kept_sets());
  CHECK(contains(refusal(make({logits, targets, offsets})), "needs kept_ids"));
  CHECK(contains(refusal(make({logits, targets, {"kept_ids", Dtype::I32, {9}}})), "no kept_offsets"));
  CHECK(contains(refusal(make({logits, targets, {"kept_ids", Dtype::F32, {2, 3, 4}}})), "wrong type"));
  CHECK(contains(
      refusal(make({logits, targets, {"kept_ids", Dtype::I32, {9}}, {"kept_offsets", Dtype::I32, {6}}})),
      "wanted 7 whole numbers"));
  CHECK(contains(refusal(make({logits, targets, {"kept_mask", Dtype::BOOL, {2, 3, 6}}})), "does not match"));
  CHECK(contains(
      refusal(
          make({logits, targets, {"kept_ids", Dtype::I64, {2, 3, 4}}, {"kept_mask", Dtype::U8, {2, 3, 4}}})),
      "wanted one"));
}

TEST_CASE("roles: without logits, recorded tensors say how many rows there are") {
  const Maker make;
  const TensorSpec train{"old_log_probs", Dtype::F32, {2, 3}}, rollout{"rollout_log_probs", Dtype::BF16, {6}};
  const Roles pairs = find_roles(make({train, rollout}), {});
  CHECK_FALSE(pairs.has_logits());
  CHECK(pairs.rows == 6);
  CHECK(pairs.batch == 2);
  CHECK(pairs.targets.name.empty());
  REQUIRE(pairs.recorded.size() == 2);
  CHECK(pairs.recorded[0].name == "old_log_probs");
  CHECK(find_roles(make({train, rollout, targets}), {}).targets.name == "targets");
  CHECK(contains(refusal(make({train})), "at least two recorded tensors"));
  CHECK(contains(refusal(make({train, {"rollout_log_probs", Dtype::F32, {2, 4}}})), "not comparable"));
  CHECK(contains(refusal(make({{"old_log_probs", Dtype::F32, {0}}, {"rollout_log_probs", Dtype::F32, {0}}})),
                 "is empty"));
}

TEST_CASE("recorded: a word is a tensor's name before it is a file and a name, and may say what it holds") {
  const Maker make;
  const DumpFile dump = make({logits, targets, {"a:b", Dtype::F32, {6}}, {"c", Dtype::F32, {6}}});
  const auto found = named_recorded(dump, {"a:b", "c=lse", "c=lse"});
  REQUIRE(found.size() == 2);
  CHECK(found[0].name == "a:b");
  CHECK(found[0].kind == RecordedKind::logp);
  CHECK(found[1].kind == RecordedKind::lse);
  CHECK(word_of(found[1]) == "c=lse");
  CHECK(error_of([&] { named_recorded(dump, {"c", "c=lse"}); }).fault() == Fault::usage);
  CHECK(error_of([&] { named_recorded(dump, {"gone.safetensors:c"}); }).fault() == Fault::io);
  CHECK(error_of([&] { named_recorded(dump, {"nothing"}); }).fault() == Fault::input);
}

}  // namespace
}  // namespace drift
