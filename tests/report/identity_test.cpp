// Ids, environment and the reproduce line: what makes a run the same run.

#include <algorithm>
#include <array>
#include <cstdio>
#include <sstream>

#include "base/digest.hpp"
#include "report/case_id.hpp"
#include "report/environment.hpp"
#include "report/reproduce.hpp"
#include "sample_reports.hpp"
#include "support/catch.hpp"

using namespace drift;

namespace {

/// stdout of a shell command; `status` is what pclose said.
std::string output_of(const std::string& command, int& status) {
  std::string out;
  FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 4096> buffer;
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    out.append(buffer.data(), n);
  status = ::pclose(pipe);
  return out;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) out.push_back(part);
  return out;
}

}  // namespace

TEST_CASE("case_id: the digest of sorted compact JSON with the dump in it") {
  const NamedValues values{{"tp", std::int64_t{2}},
                           {"cp", std::int64_t{1}},
                           {"temperature", 0.5},
                           {"gate", std::vector<std::string>{"a < 1"}},
                           {"force", true}};
  const std::string text =
      R"({"cp":1,"dump":"a/b.safetensors","force":true,"gate":["a < 1"],"temperature":0.5,"tp":2})";
  CHECK(case_id(values, "a/b.safetensors") == hex(digest(text)).substr(0, 16));
  CHECK(hex(digest(std::string_view(""))) ==
        "99aa06d3014798d86001c324468d497f");  // xxHash's published test value
}

TEST_CASE("case_id: the order of options does not matter, each value does") {
  const NamedValues a{{"tp", std::int64_t{2}}, {"cp", std::int64_t{1}}};
  const NamedValues b{{"cp", std::int64_t{1}}, {"tp", std::int64_t{2}}};
  const NamedValues c{{"cp", std::int64_t{2}}, {"tp", std::int64_t{1}}};
  CHECK(case_id(a, "d") == case_id(b, "d"));
  CHECK(case_id(a, "d") != case_id(c, "d"));
  CHECK(case_id(a, "d") != case_id(a, "e"));
  CHECK(case_id(a, "d").size() == 16);
  CHECK(case_id({{"t", 1.0}}, "d") != case_id({{"t", std::string("1.0")}}, "d"));
  CHECK(case_id({{"dump", std::string("other")}, {"tp", std::int64_t{2}}}, "d") ==
        case_id({{"tp", std::int64_t{2}}}, "d"));
}

TEST_CASE("fingerprint: all 32 digits, of the values alone") {
  CHECK(fingerprint({{"b", std::int64_t{1}}, {"a", false}}) ==
        hex(digest(std::string_view(R"({"a":false,"b":1})"))));
}

TEST_CASE("environment: one allow-list") {
  for (const char* name :
       {"NCCL_ALGO", "CUBLAS_WORKSPACE_CONFIG", "CUDA_LAUNCH_BLOCKING", "OMP_NUM_THREADS",
        "VLLM_BATCH_INVARIANT", "OMPI_MCA_coll", "OMPI_MCA_coll_tuned_use_dynamic_rules", "OMPI_MCA_op",
        "OMPI_MCA_op_avx_support", "OMPI_MCA_pml", "OMPI_MCA_btl", "OMPI_MCA_mtl"})
    CHECK(can_change_numbers(name));
  for (const char* name :
       {"CUDA_VISIBLE_DEVICES", "CUDA_MPS_PIPE_DIRECTORY", "OMP_NUM_THREADS2", "OMP_PLACES", "HOME", "PATH",
        "OMPI_MCA_orte_num_nodes", "OMPI_MCA_ess", "OMPI_MCA_pmix", "OMPI_MCA_opal_event",
        "OMPI_MCA_mpi_oversubscribe", "OMPI_MCA_rmaps_base_oversubscribe", "OMPI_COMM_WORLD_RANK",
        "PMIX_RANK", "XNCCL_ALGO", "OMPI_MCA_", "OMPI_MCA_collx", ""})
    CHECK_FALSE(can_change_numbers(name));
}

TEST_CASE("environment: set variables are kept as they are") {
  const std::vector<std::string> process{
      "HOME=/h", "NCCL_ALGO=Ring", "NCCL_EMPTY=", "NCCL_NAMELESS", "NCCL_ALGO=Tree", "VLLM_X=a=b c"};
  CHECK(recorded_variables(process) ==
        std::map<std::string, std::string>{{"NCCL_ALGO", "Ring"}, {"NCCL_EMPTY", ""}, {"VLLM_X", "a=b c"}});
}

TEST_CASE("environment: nothing that mpirun exports by itself is recorded") {
  int status = 0;
  const std::string launch =
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 ";
  const std::string bare = output_of(launch + "env -0", status);
  REQUIRE(status == 0);
  const std::string launched = output_of(launch + "timeout 60 mpirun -np 1 env -0", status);
  REQUIRE(status == 0);
  REQUIRE(launched.find("OMPI_MCA_") != std::string::npos);
  CHECK(recorded_variables(split(launched, '\0')) == recorded_variables(split(bare, '\0')));
}

TEST_CASE("environment: what a user sets for mpirun is recorded, also by --mca") {
  int status = 0;
  const std::string launched = output_of(
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 60 mpirun --mca btl self,vader -np "
      "1 "
      "-x NCCL_PROTO=Simple env -0",
      status);
  REQUIRE(status == 0);
  const auto variables = recorded_variables(split(launched, '\0'));
  CHECK(variables.at("OMPI_MCA_btl") == "self,vader");
  CHECK(variables.at("NCCL_PROTO") == "Simple");
}

TEST_CASE("environment: versions of the build and of what is given") {
  const std::vector<std::pair<std::string, std::string>> more{
      {"nccl", "2.30.4"}, {"driver", ""}, {"mpi", "4.1.4"}};
  const Environment environment = collect_environment({}, more);
  CHECK(environment.versions.at("nccl") == "2.30.4");
  CHECK(environment.versions.at("mpi") == "4.1.4");
  CHECK(environment.versions.contains("drift_audit"));
  CHECK(environment.versions.contains("revision"));
  CHECK(environment.versions.contains("compiler"));
  CHECK_FALSE(environment.versions.contains("driver"));
}

TEST_CASE("digest_of: equal environments, and each difference") {
  const Environment one = samples::bare().environment;
  Environment other = one;
  CHECK(digest_of(one) == digest_of(other));
  other.differing_ranks = {3};
  CHECK(digest_of(one) == digest_of(other));
  other.variables["NCCL_ALGO"] = "Tree";
  CHECK(digest_of(one) != digest_of(other));
  other = one;
  other.versions["revision"] = "x";
  CHECK(digest_of(one) != digest_of(other));
  other = one;
  other.gpu_models = {"a GPU"};
  CHECK(digest_of(one) != digest_of(other));
}

TEST_CASE("shell_line: sh reads back every word, whatever is in it") {
  std::string every_byte;
  for (int c = 1; c < 128; ++c) every_byte += static_cast<char>(c);
  const std::vector<std::string> words{"plain-1.0", "",         "two words",    "it's",
                                       "''",        "'",        "\"",           "$HOME",
                                       "`id`",      "a\\b",     "line1\nline2", "*",
                                       "~",         "#x",       "K=V",          "a;b&c|d",
                                       "!",         "<>",       "(x)",          "recorded.x.max_abs <= 1e-5",
                                       "naïve",     every_byte, "-n",           "trailing\\"};
  int status = 0;
  const std::string out = output_of("printf '%s\\0' " + shell_line(words), status);
  REQUIRE(status == 0);
  CHECK(split(out, '\0') == words);
}

TEST_CASE("shell_quoted: ordinary words stay as typed") {
  CHECK(shell_quoted("drift-audit") == "drift-audit");
  CHECK(shell_quoted("./a/b_c.safetensors") == "./a/b_c.safetensors");
  CHECK(shell_quoted("0,10,20") == "0,10,20");
  CHECK(shell_quoted("a b") == "'a b'");
}

TEST_CASE("reproduce: launcher, variables, program, arguments") {
  Environment environment;
  environment.variables = {{"NCCL_ALGO", "Ring"}, {"NCCL_X", "a;b c"}};
  CHECK(reproduce(4, "./build/drift-audit", {"run", "my dump", "--gate", "a == 0"}, environment) ==
        "mpirun -np 4 -x NCCL_ALGO=Ring -x 'NCCL_X=a;b c' ./build/drift-audit run 'my dump' --gate 'a == 0'");
  CHECK(reproduce(1, "drift-audit", {"run", "d"}, {}, {"--allow-run-as-root", "--oversubscribe"}) ==
        "mpirun -np 1 --allow-run-as-root --oversubscribe drift-audit run d");
}

TEST_CASE("reproduce: mpirun hands the variables and arguments over unchanged") {
  Environment environment;
  environment.variables = {{"NCCL_X", "a;b=c,d e\"'$HOME"}, {"OMPI_MCA_op", "^avx"}, {"VLLM_EMPTY", ""}};
  const std::string line =
      reproduce(1, "sh", {"-c", "env -0; printf 'ARG=%s\\0' \"$@\"", "sh", "it's", "a \"b\""}, environment);
  int status = 0;
  const auto lines =
      split(output_of("OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 60 " + line, status),
            '\0');
  REQUIRE(status == 0);
  const auto has = [&](const std::string& entry) {
    return std::find(lines.begin(), lines.end(), entry) != lines.end();
  };
  CHECK(has("NCCL_X=a;b=c,d e\"'$HOME"));
  CHECK(has("OMPI_MCA_op=^avx"));
  CHECK(has("VLLM_EMPTY="));
  CHECK(has("ARG=it's"));
  CHECK(has("ARG=a \"b\""));
}
