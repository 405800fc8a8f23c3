// Through the binary: everything that needs no audit.

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "formulas/formula.hpp"
#include "stats/mismatch.hpp"
#include "support/catch.hpp"
#include "support/drift_audit.hpp"
#include "support/tiny_dump.hpp"

namespace drift {
namespace {

using namespace test;

const std::string source = DRIFT_SOURCE_DIR;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string small_dump(const TemporaryFolder& folder) {
  TinyDump dump;
  dump.bf16("logits", {2, 3, 8}, std::vector<float>(48, 0.5f))
      .i64("targets", {2, 3}, {0, 1, 2, 3, 4, 5})
      .meta("real_vocab_size", "6");
  return dump.write(folder.path("small.safetensors"));
}

}  // namespace

TEST_CASE("program: help and version are results, on stdout, exit 0") {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--help"},
                                                {"--version"},
                                                {"run", "--help"},
                                                {"explain", "--help"},
                                                {"plan", "--help"},
                                                {"inspect", "--help"}}) {
    const Ran ran = drift_audit(words);
    INFO(ran.all());
    CHECK(ran.exit_code == 0);
    CHECK_FALSE(ran.out.empty());
    CHECK(ran.err.empty());
  }
}

TEST_CASE("program: usage errors are exit 2, on stderr, in whole lines") {
  TemporaryFolder folder;
  const std::string dump = small_dump(folder);
  const std::vector<std::vector<std::string>> wrong{
      {},
      {"no-such-command"},
      {"run"},
      {"run", dump, "--no-such-option"},
      {"run", dump, "--tp", "0"},
      {"run", dump, "--tp", "2"},  // a world of one
      {"run", folder.path()},      // a folder
      {"inspect", folder.path()},
      {"run", dump, "--formula", "no-such", "--dry-run"},
      {"run", dump, "--formula", "torch-log-softmax-f32", "--dry-run"},
      {"run", dump, "--require", "speed", "--dry-run"},
      {"run", dump, "--vocab-bounds", "0,5", "--dry-run"},
      {"run", dump, "--real-vocab", "9", "--dry-run"},
      {"run", dump, "--temperature", "nan"},
      {"run", dump, "--gate", "status =="},
      {"schema", "no-such"},
      {"plan", dump, "--tp", "0"},
      {"generate", folder.path("g"), "--vocab", "10", "--padded-vocab", "9"},
  };
  for (const auto& words : wrong) {
    const Ran ran = drift_audit(words, {.environment = {}, .directory = folder.path()});
    INFO(ran.all());
    CHECK(ran.exit_code == 2);
    CHECK(ran.out.empty());
    REQUIRE_FALSE(ran.err.empty());
    CHECK(ran.err.back() == '\n');
    CHECK(has(ran.err, "drift-audit: error: "));
  }
  CHECK_FALSE(std::filesystem::exists(folder.path("drift-reports")));  // a typing error leaves nothing behind
}

TEST_CASE("program: a world that is not tp x cp is told the line that works") {
  TemporaryFolder folder;
  const Ran ran = drift_audit({"run", small_dump(folder), "--tp", "2", "--cp", "2"});
  INFO(ran.all());
  CHECK(ran.exit_code == 2);
  CHECK(has(ran.err, "started with 1 rank, but --tp 2 x --cp 2 wants 4"));
  CHECK(has(ran.err, "mpirun "));
  CHECK(has(ran.err, "-np 4 "));
}

TEST_CASE("program: what is missing is exit 4, what is malformed exit 3") {
  TemporaryFolder folder;
  std::ofstream(folder.path("bad.safetensors")) << "not a dump";
  for (const char* command : {"run", "inspect", "plan"}) {
    CHECK(drift_audit({command, folder.path("absent.safetensors")}, {.directory = folder.path()}).exit_code ==
          4);
    CHECK(drift_audit({command, folder.path("bad.safetensors")}, {.directory = folder.path()}).exit_code ==
          3);
  }
  CHECK(drift_audit({"compare", folder.path("a"), folder.path("b")}).exit_code == 4);
  CHECK(drift_audit({"generate", folder.path("no/such/folder/x")}).exit_code == 4);
}

TEST_CASE("program: inspect gives every corpus file its verdict") {
  std::ifstream verdicts(source + "/tests/data/safetensors/verdicts.tsv");
  REQUIRE(verdicts.good());
  std::string line;
  std::getline(verdicts, line);
  int files = 0;
  while (std::getline(verdicts, line)) {
    const std::string file = line.substr(0, line.find('\t'));
    const bool accepted = line.substr(line.rfind('\t') + 1).rfind("accept", 0) == 0;
    const std::string path = source + "/tests/data/safetensors/" + file;
    if (!std::filesystem::exists(path)) continue;  // made by a generator in unit.dump
    const Ran ran = drift_audit({"inspect", path});
    INFO(ran.all());
    CHECK(ran.exit_code == (accepted ? 0 : 3));
    CHECK(ran.err.empty() == accepted);
    ++files;
  }
  CHECK(files > 50);
}

TEST_CASE("program: inspect says what run would use, and why it would refuse") {
  TemporaryFolder folder;
  const Ran fine = drift_audit({"inspect", small_dump(folder)});
  INFO(fine.all());
  CHECK(fine.exit_code == 0);
  CHECK(has(fine.out, "real vocabulary: 6 of 8 (metadata)"));
  CHECK(has(fine.out, "temperature: 1 (default)"));
  CHECK(has(fine.out, "formula fixed-tree: accepts"));
  CHECK(has(fine.out, "formula torch-log-softmax-f32: refuses"));

  TinyDump bare;
  bare.f32("weights", {2, 2}, {1, 2, 3, 4});
  const Ran refused = drift_audit({"inspect", bare.write(folder.path("weights.safetensors"))});
  INFO(refused.all());
  CHECK(refused.exit_code == 0);
  CHECK(has(refused.out, "run would refuse"));
}

TEST_CASE("program: formulas lists the registry") {
  const Ran ran = drift_audit({"formulas"});
  INFO(ran.all());
  CHECK(ran.exit_code == 0);
  REQUIRE_FALSE(formulas().empty());
  for (const Formula& formula : formulas()) {
    CHECK(has(ran.out, std::string(formula.id) + "\n"));
    CHECK(has(ran.out, std::string(formula.used_by)));
  }
  CHECK(has(ran.out, "vocabularies of at least 9,217 columns"));
}

TEST_CASE("program: metrics lists every number of a pair with its formula, and every framework's name once") {
  const Ran ran = drift_audit({"metrics"});
  INFO(ran.all());
  CHECK(ran.exit_code == 0);
  for (const Metric& metric : mismatch_metrics()) {
    CHECK(has(ran.out, "\n" + std::string(metric.key) + "\n"));
    CHECK(has(ran.out, std::string(metric.formula)));
  }
  CHECK(has(ran.out, "verl rollout_corr/k3_kl, nemo train/gen_kl_error"));
  CHECK_FALSE(has(ran.out, "rollout_is_max"));  // a clamped number is another one
}

TEST_CASE("program: schema prints what the repository holds") {
  const Ran ran = drift_audit({"schema", "aggregate"});
  INFO(ran.err);
  CHECK(ran.exit_code == 0);
  CHECK(ran.out == file_text(source + "/schemas/aggregate.schema.json"));
  const Ran unknown = drift_audit({"schema", "no-such"});
  CHECK(has(unknown.err, "aggregate"));
}

TEST_CASE("program: generate writes the same dump twice, and inspect reads it") {
  TemporaryFolder folder;
  for (const char* profile : {"flat", "sharp", "exact", "masked", "fencepost"}) {
    const std::vector<std::string> options{"--rows", "5",         "--vocab", "50",     "--padded-vocab",
                                           "64",     "--profile", profile,   "--force"};
    for (const char* name : {"a", "b"}) {
      std::vector<std::string> words{"generate", folder.path(name)};
      words.insert(words.end(), options.begin(), options.end());
      const Ran ran = drift_audit(words);
      INFO(ran.all());
      REQUIRE(ran.exit_code == 0);
    }
    CHECK(file_text(folder.path("a")) == file_text(folder.path("b")));
    CHECK(drift_audit({"inspect", folder.path("a")}).exit_code == 0);
  }
}

TEST_CASE("program: dry run says who owns what, for any number of ranks, and starts nothing") {
  TemporaryFolder folder;
  const Ran ran =
      drift_audit({"run", small_dump(folder), "--tp", "3", "--cp", "2", "--cp-layout", "zigzag", "--dry-run"},
                  {.directory = folder.path()});
  INFO(ran.all());
  CHECK(ran.exit_code == 0);
  const auto lines = lines_of(ran.out);
  int ranks = 0;
  for (const std::string& line : lines) ranks += line.find("[0,3)") != std::string::npos ? 1 : 0;
  CHECK(ranks == 2);
  CHECK(has(ran.out, "[6,8)"));        // the last TP rank's columns: padding only
  CHECK(has(ran.out, "[0,1) [3,4)"));  // CP rank 0's rows
  CHECK(has(ran.out, "[1,3) [4,6)"));  // CP rank 1's rows
  CHECK_FALSE(std::filesystem::exists(folder.path("drift-reports")));
}

TEST_CASE("program: plan prints one runnable line a topology") {
  TemporaryFolder folder;
  const std::string dump = small_dump(folder);
  const Ran ran = drift_audit({"plan", dump, "--tp", "1,2,4", "--cp", "1,2", "--out", "o"});
  INFO(ran.all());
  CHECK(ran.exit_code == 0);
  const auto lines = lines_of(ran.out);
  REQUIRE(lines.size() == 6);
  for (const std::string& line : lines) CHECK(line.rfind("mpirun ", 0) == 0);
  CHECK(has(lines[3], "-np 4 "));
  CHECK(has(lines[3], "--tp 2 --cp 2"));
  CHECK(has(lines[3], "--out o/tp2-cp2"));

  const Ran refused = drift_audit({"plan", dump, "--tp", "1,2", "--formula", "torch-log-softmax-f32"});
  INFO(refused.all());
  CHECK(refused.exit_code == 2);
  CHECK(has(refused.out, "# tp1-cp1 cannot run (exit 2)"));
}

TEST_CASE("program: plan and dry run refuse a gate that run would refuse") {
  TemporaryFolder folder;
  const std::string dump = small_dump(folder);
  CHECK(drift_audit({"plan", dump, "--gate", "x"}).exit_code == 2);
  CHECK(drift_audit({"run", dump, "--dry-run", "--gate", "x"}).exit_code == 2);
}

TEST_CASE("program: a line break in a name stays inside its line") {
  TemporaryFolder folder;
  const std::string name = folder.path("a\nb");
  std::filesystem::rename(small_dump(folder), name);
  const Ran plan = drift_audit({"plan", name, "--tp", "1,2"});
  INFO(plan.all());
  CHECK(plan.exit_code == 2);  // sh has no way to write it on one line
  REQUIRE(lines_of(plan.out).size() == 2);
  CHECK(lines_of(plan.out)[1].rfind("# tp2-cp1 cannot run (exit 2): ", 0) == 0);
  CHECK(has(plan.out, "a\\x0ab"));
  const Ran dry = drift_audit({"run", name, "--dry-run"});
  INFO(dry.all());
  CHECK(dry.exit_code == 0);
  CHECK(has(dry.out, "a\\x0ab, "));
  const Ran absent = drift_audit({"inspect", folder.path("no\x1b\nsuch")});
  CHECK(lines_of(absent.err).size() == 1);
  CHECK(has(absent.err, "no\\x1b\\x0asuch: cannot be opened"));
}

TEST_CASE("program: formulas says what none of them claims") {
  const Ran ran = drift_audit({"formulas"});
  CHECK_FALSE(has(ran.out, "whatever the nothing"));
  CHECK(has(ran.out, "same bits whatever the tp, bounds"));
}

TEST_CASE("program: generate replaces a file only with --force") {
  TemporaryFolder folder;
  std::ofstream(folder.path("g")) << "precious";
  const Ran refused = drift_audit({"generate", folder.path("g")});
  INFO(refused.all());
  CHECK(refused.exit_code == 4);
  CHECK(has(refused.err, "--force"));
  CHECK(file_text(folder.path("g")) == "precious");
  CHECK(drift_audit({"generate", folder.path("g"), "--force"}).exit_code == 0);
  CHECK(drift_audit({"inspect", folder.path("g")}).exit_code == 0);
  CHECK(drift_audit({"generate", folder.path("new"), "--force"}).exit_code == 0);
}

TEST_CASE("program: generate refuses what the disk cannot hold before it writes") {
  TemporaryFolder folder;
  const Ran ran = drift_audit({"generate", folder.path("g"), "--rows", "1000000000000", "--vocab", "100000",
                               "--padded-vocab", "100000"},
                              {.timeout_seconds = 10});
  INFO(ran.all());
  CHECK(ran.exit_code == 4);
  CHECK(has(ran.err, "bytes free, wanted 20000"));
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("program: a generate that is interrupted or hits a size limit leaves nothing") {
  TemporaryFolder folder;
  const auto generate = [&](const std::string& before) {
    return run_command({"sh", "-c",
                        before + " '" + DRIFT_BINARY + "' generate '" + folder.path("g") +
                            "' --rows 8000 --vocab 65536 --padded-vocab 65536"});
  };
  const Ran limited = generate("ulimit -f 2000 &&");
  INFO(limited.all());
  CHECK(limited.exit_code == 4);
  CHECK(has(limited.err, "File too large"));
  CHECK(std::filesystem::is_empty(folder.path()));

  const int nameless = ::open(folder.path().c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (nameless < 0) {
    WARN("SKIPPED in part: this file system has no files without a name");
    return;
  }
  ::close(nameless);
  for (const char* signal : {"TERM", "INT", "KILL"}) {
    const Ran stopped = generate(std::string("exec timeout -s ") + signal + " 0.2");
    INFO(stopped.all());
    if (stopped.exit_code == 4) {
      WARN("SKIPPED in part: too little disk for a dump of 1 GB");
      return;
    }
    CHECK(stopped.exit_code != 0);
    CHECK(std::filesystem::is_empty(folder.path()));
  }
}

TEST_CASE("program: a stdout that is closed or a pipe without a reader is exit 4, not a signal") {
  const std::string formulas = "'" + std::string(DRIFT_BINARY) + "' formulas";
  const Ran closed = run_command({"sh", "-c", formulas + " >&-"});
  INFO(closed.all());
  CHECK(closed.exit_code == 4);
  CHECK(has(closed.err, "stdout did not take all"));
  const Ran pipe = run_command({"sh", "-c", "(sleep 0.3; " + formulas + "; echo code $? >&2) | true"});
  INFO(pipe.all());
  CHECK(has(pipe.err, "code 4"));
}

TEST_CASE("program: variables that a launcher left behind silence nobody") {
  for (const char* variable : {"PMIX_RANK=3", "PMI_RANK=3"}) {
    const Ran ran = drift_audit({"--version"}, {.environment = {variable}});
    INFO(ran.all());
    CHECK(has(ran.out, "drift-audit 0.1.0"));
  }
}

TEST_CASE("program: a full disk under stdout is exit 4") {
  const Ran ran = run_command({"sh", "-c", std::string(DRIFT_BINARY) + " formulas > /dev/full"});
  INFO(ran.all());
  CHECK(ran.exit_code == 4);
}

TEST_CASE("program: under a launcher only rank 0 speaks, and all ranks end alike") {
  if (!has_mpirun()) {
    WARN("SKIPPED: mpirun is not installed");
    return;
  }
  const Ran help = drift_audit_on(2, {"--version"});
  INFO(help.all());
  CHECK(help.exit_code == 0);
  CHECK(lines_of(help.out).size() == 1);
  const Ran wrong = drift_audit_on(2, {"run", "x", "--no-such-option"});
  INFO(wrong.all());
  CHECK(wrong.exit_code == 2);
  CHECK(has(wrong.err, "--no-such-option"));
}

}  // namespace drift
