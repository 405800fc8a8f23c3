#include <algorithm>

#include "audit/case.hpp"
#include "audit/options.hpp"
#include "base/error.hpp"
#include "support/catch.hpp"
#include "support/run_command.hpp"
#include "support/tiny_dump.hpp"

namespace drift {
namespace {

using test::TinyDump;

/// [2, 3, 8] BF16 logits, 6 real columns.
TinyDump usual() {
  TinyDump dump;
  dump.bf16("logits", {2, 3, 8}, std::vector<float>(48, 0.5f))
      .i64("targets", {2, 3}, {0, 1, 2, 3, 4, 5})
      .meta("real_vocab_size", "6")
      .meta("temperature", "0.7");
  return dump;
}

struct Asked {
  test::TemporaryFolder folder;
  Config config;
  Case run;

  Asked(TinyDump dump, std::initializer_list<std::pair<std::string, std::string>> typed,
        const std::string& backend = "cpu") {
    config.dump = dump.write(folder.path("d.safetensors"));
    for (const auto& [name, word] : typed) set_option(config, *find_option(name), std::vector{word});
    run = resolve(config, DumpFile::open(config.dump), backend);
  }

  std::string source(const std::string& key) const {
    for (const auto& [name, source] : run.sources)
      if (name == key) return source;
    return "absent";
  }
  bool warns(const std::string& text) const {
    return std::any_of(run.warnings.begin(), run.warnings.end(),
                       [&](const std::string& warning) { return warning.find(text) != std::string::npos; });
  }
};

struct Refusal {
  Fault fault = Fault::internal;
  std::string message;
};

Refusal refused(TinyDump dump, std::initializer_list<std::pair<std::string, std::string>> typed) {
  try {
    Asked asked(std::move(dump), typed);
  } catch (const Error& error) {
    return {error.fault(), error.what()};
  }
  FAIL("nothing was refused");
  return {};
}

bool says(const Refusal& refusal, Fault fault, const std::string& part) {
  INFO(refusal.message);
  CHECK(refusal.fault == fault);
  CHECK(refusal.message.find(part) != std::string::npos);
  return refusal.fault == fault && refusal.message.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("resolve: the command line wins over the metadata, the metadata over the default") {
  const Asked from_dump(usual(), {});
  CHECK(from_dump.run.config.temperature == 0.7);
  CHECK(from_dump.source("temperature") == "metadata");
  CHECK(from_dump.run.real_vocab == 6);
  CHECK(from_dump.source("real_vocab") == "metadata");
  CHECK(from_dump.source("dump") == "option");
  CHECK(from_dump.source("tp") == "default");
  CHECK(from_dump.run.warnings.empty());

  const Asked typed(usual(), {{"temperature", "0.9"}, {"real-vocab", "7"}, {"tp", "2"}});
  CHECK(typed.run.config.temperature == 0.9);
  CHECK(typed.run.candidate.temperature == 0.9f);
  CHECK(typed.source("temperature") == "option");
  CHECK(typed.run.real_vocab == 7);
  CHECK(typed.source("tp") == "option");
  CHECK(typed.warns("--temperature 0.9 overrides the dump's metadata, which says 0.7"));
  CHECK(typed.warns("--real-vocab 7 overrides the dump's metadata, which says 6"));

  TinyDump bare;
  bare.f32("logits", {2, 4}, std::vector<float>(8)).i64("targets", {2}, {0, 1});
  const Asked defaults(bare, {});
  CHECK(defaults.run.config.temperature == 1.0);
  CHECK(defaults.source("temperature") == "default");
  CHECK(defaults.run.real_vocab == 4);
  CHECK(defaults.run.vocab == 4);
}

TEST_CASE("resolve: one source a key of the case, in its order") {
  const Asked asked(usual(), {{"gate", "a == 1"}, {"atol", "0"}});
  const NamedValues values = case_values(asked.run.config);
  REQUIRE(values.size() == asked.run.sources.size());
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(values[i].first == asked.run.sources[i].first);
  CHECK(asked.source("gate") == "option");
  CHECK(asked.source("atol") == "option");
}

TEST_CASE("resolve: names that were found stand in the case") {
  const Asked asked(usual().f32("rollout_logprobs", {2, 3}, std::vector<float>(6)), {});
  CHECK(asked.run.config.logits == "logits");
  CHECK(asked.run.config.targets == "targets");
  CHECK(asked.run.config.mask.empty());
  CHECK(asked.run.config.recorded == std::vector<std::string>{"rollout_logprobs"});
}

TEST_CASE("resolve: a bad temperature is the user's fault if typed, the dump's if not") {
  const auto dump = [](const std::string& t) { return usual().meta("temperature", t); };
  CHECK(refused(dump("0"), {}).fault == Fault::input);
  CHECK(refused(dump("-1"), {}).fault == Fault::input);
  CHECK(refused(dump("nan"), {}).fault == Fault::input);
  CHECK(refused(dump("warm"), {}).fault == Fault::input);
  says(refused(usual(), {{"temperature", "1e-50"}}), Fault::usage, "fp32");  // fp32(T) would be 0
  says(refused(usual(), {{"temperature", "1e39"}}), Fault::usage, "fp32");
  says(refused(usual(), {{"temperature", "1e-40"}, {"temperature-order", "reciprocal"}}), Fault::usage,
       "reciprocal");
  says(refused(usual(),
               {{"temperature", "1e-9"}, {"temperature-order", "native"}, {"candidate-dtype", "f16"}}),
       Fault::usage, "native");
}

TEST_CASE("resolve: the real vocabulary fits the logits") {
  says(refused(usual(), {{"real-vocab", "9"}}), Fault::usage, "--real-vocab");
  CHECK(refused(usual().meta("real_vocab_size", "9"), {}).fault == Fault::input);
  CHECK(refused(usual().meta("padded_vocab_size", "16"), {}).fault == Fault::input);
}

TEST_CASE("resolve: padding include lets padded columns count, but no target points at them") {
  const Asked asked(usual(), {{"padding", "include"}});
  CHECK(asked.run.vocab == 8);
  CHECK(asked.run.real_vocab == 6);
  CHECK(asked.run.padded_vocab == 8);
}

TEST_CASE("resolve: vocabulary bounds are even, or as typed once they fit") {
  CHECK(Asked(usual(), {{"tp", "3"}}).run.bounds.bounds == std::vector<std::int64_t>{0, 3, 6, 8});
  CHECK(Asked(usual(), {{"tp", "3"}, {"vocab-bounds", "0,0,1,8"}}).run.bounds.bounds ==
        std::vector<std::int64_t>{0, 0, 1, 8});
  says(refused(usual(), {{"tp", "3"}, {"vocab-bounds", "0,4,8"}}), Fault::usage, "wants 4");
  says(refused(usual(), {{"tp", "2"}, {"vocab-bounds", "1,4,8"}}), Fault::usage, "0 first and 8");
  says(refused(usual(), {{"tp", "2"}, {"vocab-bounds", "0,4,6"}}), Fault::usage, "0 first and 8");
  says(refused(usual(), {{"tp", "3"}, {"vocab-bounds", "0,5,4,8"}}), Fault::usage, "must not fall");
}

TEST_CASE("resolve: the CP layout comes from the metadata unless typed") {
  const Asked asked(usual().meta("cp_layout", "zigzag"), {{"cp", "2"}});
  CHECK(asked.run.layout == CpLayout::zigzag);
  CHECK(asked.source("cp_layout") == "metadata");
  CHECK(asked.run.rows_of(0) ==
        std::vector<Range>{{0, 1}, {3, 4}});  // S = 3, chunks of 1 1 1 0: ranks 0 1 1 0
  CHECK(refused(usual().meta("cp_layout", "spiral"), {}).fault == Fault::input);
}

TEST_CASE("resolve: formulas that cannot be part of the run are refused by name, rejected by `all`") {
  says(refused(usual(), {{"formula", "no-such"}}), Fault::usage, "fixed-tree");
  says(refused(usual(), {{"formula", "torch-log-softmax-f32"}}), Fault::usage, "cannot be part of this run");
  says(refused(usual(), {{"formula", "all,fixed-tree"}}), Fault::usage, "stands alone");
  says(refused(usual(), {{"formula", "fixed-tree,fixed-tree"}}), Fault::usage, "twice");
  const Asked all(usual(), {{"formula", "all"}});
  CHECK(all.run.formulas.size() + all.run.rejected.size() == formulas().size());
  CHECK(std::any_of(all.run.rejected.begin(), all.run.rejected.end(),
                    [](const auto& entry) { return entry.first == "torch-log-softmax-f32"; }));
}

TEST_CASE("resolve: a required claim refuses formulas that do not make it") {
  CHECK(Asked(usual(), {{"require", "tp,bounds,padded-width,rows,chunking,backend,replicated"}})
            .run.formulas.size() == 1);
  says(refused(usual(), {{"require", "speed"}}), Fault::usage, "padded-width");
  says(refused(usual(), {{"formula", "megatron-unfused"}, {"require", "tp"}}), Fault::usage,
       "does not claim 'tp'");
  const Asked all(usual(), {{"formula", "all"}, {"require", "tp"}});
  CHECK(std::any_of(all.run.rejected.begin(), all.run.rejected.end(),
                    [](const auto& entry) { return entry.first == "megatron-unfused"; }));
}

TEST_CASE("resolve: the candidate's values follow dtype and temperature order") {
  const Asked stored(usual(), {});
  CHECK(stored.run.candidate ==
        ValueRule{.stored = Dtype::BF16, .candidate = Dtype::BF16, .temperature = 0.7f});
  CHECK_FALSE(stored.run.input_is_rounded);
  const Asked f16(usual(), {{"candidate-dtype", "f16"}, {"temperature-order", "native"}});
  CHECK(f16.run.candidate.candidate == Dtype::F16);
  CHECK(f16.run.candidate.order == TemperatureOrder::native);
  CHECK(f16.run.input_is_rounded);
  TinyDump wide;
  wide.add("logits", Dtype::F64, {1, 4}, std::vector<double>(4)).i64("targets", {1}, {0});
  const Asked f64(wide, {});
  CHECK(f64.run.candidate.candidate == Dtype::F32);
  CHECK_FALSE(f64.run.input_is_rounded);
}

TEST_CASE("resolve: an option that can change nothing here is named") {
  const auto warns = [](TinyDump dump, std::initializer_list<std::pair<std::string, std::string>> typed,
                        const std::string& name) {
    INFO(name);
    return Asked(std::move(dump), typed).warns("--" + name + " has no effect here");
  };
  CHECK(warns(usual(), {{"cp-layout", "zigzag"}}, "cp-layout"));
  CHECK_FALSE(warns(usual(), {{"cp-layout", "zigzag"}, {"cp", "2"}}, "cp-layout"));
  CHECK(warns(usual(), {{"tp", "2"}, {"vocab-bounds", "0,4,8"}}, "vocab-bounds"));
  CHECK_FALSE(warns(usual(), {{"tp", "2"}, {"vocab-bounds", "0,3,8"}}, "vocab-bounds"));
  CHECK(warns(usual(), {{"transport", "mpi"}}, "transport"));
  CHECK_FALSE(warns(usual(), {{"transport", "mpi"}, {"tp", "2"}}, "transport"));
  CHECK(warns(usual(), {{"temperature", "1"}, {"temperature-order", "native"}}, "temperature-order"));
  CHECK_FALSE(warns(usual(), {{"temperature-order", "native"}}, "temperature-order"));
  CHECK(warns(usual(), {{"temperature-order", "native"}, {"candidate-dtype", "f32"}}, "temperature-order"));
  CHECK(warns(usual(), {{"candidate-dtype", "bf16"}}, "candidate-dtype"));
  CHECK(warns(usual(), {{"candidate-dtype", "f32"}}, "candidate-dtype"));
  CHECK_FALSE(warns(usual(), {{"candidate-dtype", "f16"}}, "candidate-dtype"));
  CHECK(warns(usual(), {{"real-vocab", "8"}, {"padding", "include"}}, "padding"));
  CHECK_FALSE(warns(usual(), {{"padding", "include"}}, "padding"));
  CHECK(warns(usual(), {{"tolerance", "derived"}, {"atol", "1"}}, "tolerance"));
  CHECK(warns(usual(), {{"collective-timeout", "5"}}, "collective-timeout"));
  CHECK(Asked(usual(), {}).run.warnings.empty());
}

TEST_CASE("resolve: a chunk is 64 MiB of whole rows, at least one row, no more than there are") {
  CHECK(Asked(usual(), {}).run.rows_per_chunk == 6);
  CHECK(Asked(usual(), {{"rows-per-chunk", "100"}}).run.rows_per_chunk == 100);
  const Asked asked(usual(), {});
  CHECK(asked.run.config.rows_per_chunk == 6);
  CHECK(asked.source("rows_per_chunk") == "default");
}

TEST_CASE("resolve: what is typed wins over metadata that makes no sense, which is a warning then") {
  const auto broken = [] {
    return usual().meta("temperature", "warm").meta("real_vocab_size", "99").meta("cp_layout", "spiral");
  };
  CHECK(refused(broken(), {}).fault == Fault::input);
  CHECK(refused(broken(), {{"temperature", "0.9"}, {"real-vocab", "6"}}).fault == Fault::input);
  const Asked typed(broken(),
                    {{"temperature", "0.9"}, {"real-vocab", "6"}, {"cp-layout", "zigzag"}, {"cp", "2"}});
  CHECK(typed.run.config.temperature == 0.9);
  CHECK(typed.run.real_vocab == 6);
  CHECK(typed.run.layout == CpLayout::zigzag);
  CHECK(typed.source("temperature") == "option");
  CHECK(typed.warns("\"temperature\": seen \"warm\""));
  CHECK(typed.warns("\"real_vocab_size\": seen 99"));
  CHECK(typed.warns("\"cp_layout\": seen \"spiral\""));
}

TEST_CASE("resolve: the vocabulary under its other name, and a size that says too little") {
  TinyDump dump;
  dump.f32("logits", {2, 4}, std::vector<float>(8)).i64("targets", {2}, {0, 1});
  const Asked synonym(TinyDump(dump).meta("real_vocab", "3"), {});
  CHECK(synonym.run.real_vocab == 3);
  CHECK(synonym.source("real_vocab") == "metadata");
  const Asked unclear(TinyDump(dump).meta("vocab_size", "3"), {});
  CHECK(unclear.run.real_vocab == 4);
  CHECK(unclear.warns("\"vocab_size\" \"3\" is not used"));
  CHECK(refused(TinyDump(dump).meta("real_vocab", "3").meta("real_vocab_size", "4"), {}).fault ==
        Fault::input);
}

TEST_CASE("resolve: token ids that were typed as targets need --targets-are") {
  TinyDump dump;
  dump.f32("logits", {2, 4}, std::vector<float>(8)).i64("input_ids", {2}, {0, 1});
  says(refused(dump, {{"targets", "input_ids"}}), Fault::input, "--targets-are input-ids");
  CHECK(Asked(dump, {{"targets", "input_ids"}, {"targets-are", "shifted"}}).run.config.targets ==
        "input_ids");
  CHECK(Asked(dump, {{"targets", "input_ids"}, {"targets-are", "input-ids"}}).run.config.targets ==
        "input_ids");
}

TEST_CASE("resolve: a gate that run would refuse is refused, and --force is never called idle") {
  says(refused(usual(), {{"gate", "x"}}), Fault::usage, "x");
  CHECK_FALSE(Asked(usual(), {{"force", ""}}).warns("--force"));
}

}  // namespace drift
