#include "drift-audit/command_line.hpp"

#include "audit/options.hpp"
#include "base/error.hpp"
#include "drift-audit/suggestion.hpp"
#include "support/catch.hpp"

namespace drift {
namespace {

std::string refusal(const std::vector<std::string>& words) {
  try {
    parse_command_line(words);
  } catch (const Error& error) {
    CHECK(error.fault() == Fault::usage);
    return error.what();
  }
  return "";
}

bool says(const std::string& message, const std::string& part) {
  INFO(message);
  return message.find(part) != std::string::npos;
}

const Config& run_config(const Request& request) { return std::get<RunRequest>(request).config; }

}  // namespace

TEST_CASE("command line: every option of run reaches its field") {
  const Request request = parse_command_line({"run",
                                              "d.safetensors",
                                              "--tp",
                                              "2",
                                              "--cp=3",
                                              "--cp-layout",
                                              "zigzag",
                                              "--vocab-bounds",
                                              "0,5,9",
                                              "--formula",
                                              "fixed-tree,megatron-unfused",
                                              "--plugin",
                                              "./one.so",
                                              "--plugin",
                                              "./two,three.so",
                                              "--backend",
                                              "cpu",
                                              "--transport",
                                              "mpi",
                                              "--candidate-dtype",
                                              "bf16",
                                              "--temperature",
                                              "0.7",
                                              "--temperature-order",
                                              "native",
                                              "--real-vocab",
                                              "8",
                                              "--padding",
                                              "include",
                                              "--top-k",
                                              "50",
                                              "--top-p",
                                              "0.9",
                                              "--min-p",
                                              "0.05",
                                              "--logits",
                                              "L",
                                              "--targets",
                                              "T",
                                              "--mask",
                                              "M",
                                              "--recorded",
                                              "A,B",
                                              "--pair",
                                              "A:B",
                                              "--pair",
                                              "oracle:A",
                                              "--targets-are",
                                              "input-ids",
                                              "--ignore-index",
                                              "-1",
                                              "--rows-per-chunk",
                                              "4",
                                              "--worst",
                                              "3",
                                              "--row-stats",
                                              "--metric-names",
                                              "verl",
                                              "--strata",
                                              "logp,position",
                                              "--atol",
                                              "1e-5",
                                              "--rtol",
                                              "0",
                                              "--gate",
                                              "a == 1",
                                              "--gate",
                                              "b[\"x,y\"] < 2",
                                              "--require",
                                              "tp,rows",
                                              "--certify",
                                              "all",
                                              "--out",
                                              "o",
                                              "--force",
                                              "--collective-timeout",
                                              "9.5",
                                              "-q",
                                              "-v",
                                              "--dry-run"});
  const Config& config = run_config(request);
  CHECK(config.dump == "d.safetensors");
  CHECK(config.tp == 2);
  CHECK(config.cp == 3);
  CHECK(config.cp_layout == "zigzag");
  CHECK(config.vocab_bounds == std::vector<std::int64_t>{0, 5, 9});
  CHECK(config.formula == std::vector<std::string>{"fixed-tree", "megatron-unfused"});
  CHECK(config.plugin == std::vector<std::string>{"./one.so", "./two,three.so"});
  CHECK(config.backend == "cpu");
  CHECK(config.transport == "mpi");
  CHECK(config.candidate_dtype == "bf16");
  CHECK(config.temperature == 0.7);
  CHECK(config.temperature_order == "native");
  CHECK(config.real_vocab == 8);
  CHECK(config.padding == "include");
  CHECK(config.top_k == 50);
  CHECK(config.top_p == 0.9);
  CHECK(config.min_p == 0.05);
  CHECK(config.logits == "L");
  CHECK(config.targets == "T");
  CHECK(config.mask == "M");
  CHECK(config.recorded == std::vector<std::string>{"A", "B"});
  CHECK(config.pair == std::vector<std::string>{"A:B", "oracle:A"});
  CHECK(config.targets_are == "input-ids");
  CHECK(config.ignore_index == -1);
  CHECK(config.rows_per_chunk == 4);
  CHECK(config.worst == 3);
  CHECK(config.row_stats);
  CHECK(config.metric_names == "verl");
  CHECK(config.strata == std::vector<std::string>{"logp", "position"});
  CHECK(config.atol == 1e-5);
  CHECK(config.rtol == 0);
  CHECK(config.gate == std::vector<std::string>{"a == 1", "b[\"x,y\"] < 2"});
  CHECK(config.require == std::vector<std::string>{"tp", "rows"});
  CHECK(config.certify == "all");
  CHECK(config.out == "o");
  CHECK(config.force);
  CHECK(config.collective_timeout == 9.5);
  CHECK(config.quiet);
  CHECK(config.verbose);
  CHECK(config.dry_run);
  CHECK(config.typed.size() == run_options().size() - 1);  // --tolerance excludes --atol
}

TEST_CASE("command line: options may stand before the dump, and take exactly one word") {
  const Request request =
      parse_command_line({"run", "--formula", "fixed-tree", "--gate", "x == 1", "d", "--tp", "2"});
  CHECK(run_config(request).dump == "d");
  CHECK(run_config(request).formula == std::vector<std::string>{"fixed-tree"});
}

TEST_CASE("command line: what cannot be understood is a usage error that says which word") {
  CHECK(says(refusal({}), "command"));
  CHECK(says(refusal({"rum", "d"}), "did you mean run?"));
  CHECK(says(refusal({"nothing"}), "wanted one of run, explain, plan"));
  CHECK(says(refusal({"--no-such"}), "--no-such"));
  CHECK(says(refusal({"run"}), "DUMP"));
  CHECK(says(refusal({"run", "d", "e"}), "e"));
  CHECK(says(refusal({"run", "d", "--tp"}), "--tp"));
  CHECK(says(refusal({"run", "d", "--tp", "2", "--tp", "4"}), "--tp"));
  CHECK(says(refusal({"run", "d", "--tp", "two"}), "'two'"));
  CHECK(says(refusal({"run", "d", "--temperature", "0"}), "--temperature"));
  CHECK(says(refusal({"run", "d", "--temprature", "1"}), "did you mean --temperature?"));
  CHECK(says(refusal({"run", "d", "--temprature=1"}), "did you mean --temperature?"));
  CHECK(says(refusal({"run", "d", "--atol", "1", "--tolerance", "rl-kernel-ws1"}), "--tolerance"));
  CHECK(says(refusal({"plan", "d", "--tp", "1,x"}), "'x'"));
  CHECK(says(refusal({"plan", "d", "--cp", "0"}), "--cp"));
  CHECK(says(refusal({"generate", "o", "--rows", "0"}), "--rows"));
  CHECK(says(refusal({"generate", "o", "--dtype", "i32"}), "--dtype"));
  CHECK(says(refusal({"generate", "o", "--profile", "round"}), "fencepost"));
  CHECK(says(refusal({"generate", "o", "--seed", "-1"}), "--seed"));
  CHECK(says(refusal({"compare", "a"}), "NEW"));
  CHECK(says(refusal({"schema"}), "NAME"));
  CHECK(says(refusal({"run", "d", "--gate", "x"}), "x"));
  CHECK(says(refusal({"plan", "d", "--gate", "x"}), "x"));
  CHECK(says(refusal({"run", ""}), "DUMP cannot be empty"));
  CHECK(says(refusal({"compare", "a", ""}), "NEW cannot be empty"));
  CHECK(says(refusal({"generate", ""}), "OUT cannot be empty"));
  const std::string after = refusal({"run", "d", "--", "--force"});
  CHECK(says(after, "after -- every word is a name"));
  CHECK_FALSE(says(after, "did you mean"));
  CHECK(says(refusal({"run", "d", "--tp", "a\x1b\nb"}), "'a\\x1b\\x0ab'"));
}

TEST_CASE("command line: an option with '=' and nothing behind it never swallows the next word") {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"run", "d", "--out=", "--force"},
                                                {"run", "d", "--tp=", "2"},
                                                {"run", "--gate=", "d"},
                                                {"run", "d", "--force="},
                                                {"plan", "d", "--cp=", "1,2"},
                                                {"inspect", "d", "--mask=", "m"},
                                                {"generate", "o", "--seed=", "1"}}) {
    INFO(words[words.size() - 2]);
    CHECK(says(refusal(words), "has no value"));
  }
  CHECK(says(refusal({"run", "d", "--out", "--force"}), "--out has no value: the next word, --force,"));
  CHECK(says(refusal({"run", "d", "--out", "--tp=2"}), "--out has no value"));
  CHECK(says(refusal({"run", "d", "--out", "-q"}), "--out has no value"));
  CHECK(says(refusal({"run", "d", "--gate", "--"}), "--gate has no value"));
  CHECK(says(refusal({"run", "d", "--gate"}), "--gate"));
  CHECK(run_config(parse_command_line({"run", "d", "--out=--force"})).out == "--force");
  CHECK(run_config(parse_command_line({"run", "d", "--ignore-index", "-7"})).ignore_index == -7);
  CHECK(says(refusal({"run", "d", "--out", ""}), "--out cannot be ''"));
  CHECK(run_config(parse_command_line({"run", "--", "--out="})).dump == "--out=");
  CHECK(run_config(parse_command_line({"run", "d", "--gate", "a.b == 1", "--out=x="})).out == "x=");
}

TEST_CASE("command line: plan takes lists of degrees and run's options") {
  const Request request = parse_command_line({"plan", "d", "--tp", "1,2,4", "--cp", "1,2", "--worst", "3"});
  const auto& plan = std::get<PlanRequest>(request);
  CHECK(plan.degrees.tp == std::vector<std::int64_t>{1, 2, 4});
  CHECK(plan.degrees.cp == std::vector<std::int64_t>{1, 2});
  CHECK(plan.config.worst == 3);
  CHECK(refusal({"plan", "d", "--dry-run"}) != "");
}

TEST_CASE("command line: generate") {
  const Request request =
      parse_command_line({"generate", "o.safetensors", "--rows", "3", "--vocab", "10", "--padded-vocab", "16",
                          "--dtype", "f32", "--seed", "18446744073709551615", "--profile", "masked"});
  const auto& generate = std::get<GenerateCommand>(request);
  CHECK(generate.path == "o.safetensors");
  CHECK(generate.what.rows == 3);
  CHECK(generate.what.vocab == 10);
  CHECK(generate.what.padded_vocab == 16);
  CHECK(generate.what.dtype == Dtype::F32);
  CHECK(generate.what.seed == 18446744073709551615u);
  CHECK(generate.what.profile == Profile::masked);
  CHECK_FALSE(generate.force);
  CHECK(std::get<GenerateCommand>(parse_command_line({"generate", "o", "--force"})).force);
}

TEST_CASE("command line: help lists every option of run with its default") {
  const std::string help = std::get<TextRequest>(parse_command_line({"run", "--help"})).text;
  for (const Option& option : run_options()) {
    INFO(option.name);
    CHECK(help.find("--" + std::string(option.name)) != std::string::npos);
  }
  CHECK(help.find("DUMP") != std::string::npos);
  const std::string all = std::get<TextRequest>(parse_command_line({"--help"})).text;
  for (const char* command : {"run", "explain", "plan", "compare", "inspect", "generate", "formulas", "metrics", "schema"})
    CHECK(all.find(command) != std::string::npos);
  CHECK(std::get<TextRequest>(parse_command_line({"--version"})).text.find("drift-audit 0.1.0") == 0);
}

TEST_CASE("suggestion: the nearest word within two letters") {
  CHECK(nearest_word("--temprature", {"--tp", "--temperature", "--temperature-order"}) == "--temperature");
  CHECK(nearest_word("--colour", {"--tp", "--temperature"}).empty());
  CHECK(nearest_word("ab", {"xy"}).empty());
}

}  // namespace drift
