#pragma once

// Reports filled in by hand, for the tests of this folder.

#include <limits>
#include <string>

#include "report/explain_report.hpp"
#include "report/report.hpp"

namespace drift::samples {

inline const std::string hex_a(32, 'a'), hex_b(32, 'b'), hex_c(32, 'c');
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double infinity = std::numeric_limits<double>::infinity();

inline Drift small_drift(double max_abs = 1e-6) {
  Drift d;
  d.count = 3;
  d.mismatch_count = 2;
  d.bit_mismatch_count = 2;
  d.max_abs = max_abs;
  d.mean_abs = max_abs / 2;
  d.mean = -max_abs / 4;
  d.rms = max_abs / 2;
  d.p50 = max_abs / 3;
  d.p95 = d.p99 = d.p999 = max_abs;
  d.max_rel = 1e-7;
  d.max_ulp = 2;
  d.ulp_histogram = {{0, 1}, {2, 2}};
  return d;
}

inline Drift worthless_drift() {
  Drift d = small_drift();
  d.nonfinite = 2;
  d.max_abs = infinity;
  d.mean = -infinity;
  d.rms = nan;
  return d;
}

/// As stats/drift.hpp gives it where no row could be compared.
inline Drift no_rows(std::int64_t nonfinite = 0) {
  Drift d;
  d.nonfinite = nonfinite;
  d.max_abs = d.mean_abs = d.mean = d.rms = d.p50 = d.p95 = d.p99 = d.p999 = d.max_rel = nan;
  return d;
}

/// Log-probs that a user's system recorded: with noise and a table of bins.
inline Compared recorded_drift() {
  Compared c;
  c.drift = small_drift();
  c.worst = {{5, {0, 5}, 151, 1, -1.25f, -1.5f}};
  c.noise = Noise{3, 1e-3, 0.5, 2, infinity, 0.25};
  c.strata = {{"logp", {{"0..0.01", 1, 0, 0, 0, 0, 0}, {"0.1..1", 2, 2, -1e-7, 1e-7, 1e-7, 1e-6}}},
              {"position", {{"0", 1, 1, 5e-7, 5e-7, 5e-7, 5e-7}, {"4..7", 2, 1, 1e-7, 1e-7, 1e-7, 1e-6}}},
              {"segment", {{"1", 3, 2, 0.125, 0.125, 0.125, 0.25}}}};
  return c;
}

inline Token logp_token() { return {5, {0, 5}, 151, 1, -1.25f, -1.5f}; }
inline Token lse_token() { return {5, {0, 5}, {}, {}, 12.5f, 12.5f}; }

inline CandidateReport candidate(const std::string& formula, double max_abs = 1e-6) {
  CandidateReport c;
  c.formula = formula;
  c.backend_requested = "auto";
  c.backend_actual = "cpu";
  c.transport_requested = "auto";
  c.transport_actual = "mpi";
  c.claims = {"tp", "bounds"};
  c.lse = {small_drift(max_abs), {lse_token()}};
  c.logp = {small_drift(max_abs), {logp_token()}};
  c.digests = {hex_a, hex_b};
  return c;
}

/// What is there whatever happens.
inline AggregateReport bare() {
  AggregateReport r;
  r.status = "failed";
  r.exit_code = 4;
  r.case_values = {{"dump", std::string("a b.safetensors")},
                   {"tp", std::int64_t{2}},
                   {"cp", std::int64_t{1}},
                   {"formula", std::vector<std::string>{"fixed-tree"}},
                   {"temperature", 0.7},
                   {"vocab_bounds", std::vector<std::int64_t>{}}};
  r.case_sources = {{"tp", "option"}, {"temperature", "metadata"}, {"cp", "default"}};
  r.case_id = "0123456789abcdef";
  r.environment.versions = {{"drift_audit", "0.1.0"}, {"mpi", "4.1.4"}};
  r.environment.variables = {{"NCCL_ALGO", "Ring"}};
  r.reproduce = "mpirun -np 2 drift-audit run 'a b.safetensors' --tp 2";
  r.error = ErrorReport{4, "io", 1, "open the dump", "a b.safetensors: No such file or directory"};
  return r;
}

inline void add_topology(AggregateReport& r) {
  r.topology = {2, 2, 1, "contiguous"};
  ContractReport c;
  c.fingerprint = hex_c;
  c.vocab_bounds = {0, 100, 200};
  c.real_vocab = 199;
  c.padded_vocab = 200;
  c.active_rows = 3;
  c.mask_digest = hex_a;
  c.transport = "mpi";
  c.required = {"tp"};
  c.claimed = {"tp", "bounds"};
  c.measured = {"replicated"};
  r.contract = c;
}

inline void add_input(AggregateReport& r) {
  InputReport in;
  in.files = {{"a b.safetensors", hex_a, 9'007'199'254'740'993}};  // 2^53 + 1: a double would lose it
  in.logits = TensorReport{"logits", "BF16", hex_b, {1, 8, 200}};
  in.targets = TensorReport{"targets", "I64", hex_c, {1, 8}};
  in.mask = TensorReport{"mask", "BOOL", hex_a, {1, 8}};
  in.real_vocab = 199;
  in.padded_vocab = 200;
  in.rows = 8;
  in.active_rows = 3;
  r.input = in;
}

inline void add_results(AggregateReport& r) {
  r.oracle = OracleReport{"compensated fp32", "cpu", 8, 0.25, 0.5, {hex_a, hex_b}};
  r.candidates = std::vector{candidate("fixed-tree"), candidate("megatron-unfused", 2e-6)};
  r.rejected = std::vector<std::pair<std::string, std::string>>{{"torch-log-softmax-f32", "V is too small"}};
  RecordedReport recorded;
  recorded.name = "rollout_logprobs";
  recorded.dtype = "F32";
  recorded.digest = hex_c;
  recorded.vs.emplace_back("oracle", recorded_drift());
  recorded.vs.emplace_back("fixed-tree", Compared{small_drift(), {logp_token()}, {}, {}});
  RecordedReport dotted = recorded;
  dotted.name = "old.policy \"x\"";
  r.recorded = std::vector{recorded, dotted};
}

inline PairReport pair(double max_abs = 1e-6) {
  PairReport p;
  p.name = "log_probs:rollout_logprobs";
  p.a = "log_probs";
  p.b = "rollout_logprobs";
  p.compared = recorded_drift();
  p.compared.noise.reset();
  p.compared.drift.max_abs = max_abs;
  p.compared.worst = {{5, {5}, 151, {}, -1.25f, -1.5f}, {6, {6}, {}, {}, -1, -1}};
  p.metrics = Mismatch{};
  p.metrics->k3 = 1e-4;
  p.metrics->ratio_max = infinity;
  p.metrics->prob_pearson = nan;
  p.framework_metrics = {{"rollout_corr/k3_kl", 1e-4}, {"rollout_corr/rollout_is_max", 2}};
  return p;
}

/// Everything optional that a run can add.
inline void add_extras(AggregateReport& r) {
  r.input->temperature = TensorReport{"temperature", "F32", hex_a, {8}};
  r.input->kept = KeptReport{"top_k 50, top_p 0.9", 1, 50, 2};
  r.oracle->entropy = RowStatReport{1.5, 0, 3};
  r.oracle->sum_p2 = RowStatReport{0.5, 0.1, 1};
  r.recorded->back().file = "trainer.safetensors";
  PairReport sums = pair();
  sums.name = "oracle:lse";
  sums.a = "oracle";
  sums.b = "lse";
  sums.kind = "lse";
  sums.permuted = true;
  sums.metrics.reset();
  sums.framework_metrics.clear();
  r.pairs = std::vector{pair(), sums};
  for (auto& [key, value] : NamedValues{{"pair", std::vector<std::string>{"a:b"}},
                                        {"metric_names", std::string("verl")},
                                        {"top_k", std::int64_t{50}},
                                        {"top_p", 0.9},
                                        {"min_p", 0.0},
                                        {"row_stats", true},
                                        {"plugin", std::vector<std::string>{"./kernel.so"}}})
    r.case_values.emplace_back(key, value);
}

inline AggregateReport passed() {
  AggregateReport r = bare();
  r.status = "pass";
  r.exit_code = 0;
  r.scope = "user";
  r.error.reset();
  add_topology(r);
  add_input(r);
  add_results(r);
  r.gates = std::vector<GateReport>{
      {"candidates.fixed-tree.lse", 1e-5, 1e-6, 0, true, "derived"},
      {"recorded.rollout_logprobs.vs.oracle.max_abs < 1e-5", 1e-5, 1e-6, 0, true, "option"}};
  r.ranks = std::vector<RankEntry>{{"rank-0000.json", hex_a, 0, 0, 0, {{0, 8}}, {0, 100}},
                                   {"rank-0001.json", hex_b, 1, 1, 0, {{0, 8}}, {100, 200}}};
  return r;
}

inline AggregateReport with_extras() {
  AggregateReport r = passed();
  add_extras(r);
  return r;
}

/// Two recorded tensors, no logits: nothing is computed.
inline AggregateReport pairs_alone() {
  AggregateReport r = passed();
  r.contract.reset();
  r.oracle.reset();
  r.candidates.reset();
  r.rejected.reset();
  r.topology = {1, 1, 1, "contiguous"};
  r.input->logits.reset();
  r.input->real_vocab = r.input->padded_vocab = 0;
  RecordedReport a;
  a.name = "log_probs";
  a.dtype = "F32";
  a.digest = hex_a;
  RecordedReport b = a;
  b.name = "rollout_logprobs";
  b.file = "rollout.safetensors";
  r.recorded = std::vector{a, b};
  r.pairs = std::vector{pair()};
  r.gates = std::vector<GateReport>{
      {"pairs.log_probs:rollout_logprobs.metrics.k3 <= 1e-3", 1e-3, 1e-4, 0, true, "option"}};
  r.ranks = std::vector<RankEntry>{{"rank-0000.json", hex_a, 0, 0, 0, {{0, 8}}, {0, 0}}};
  return r;
}

inline ExplainReport explained() {
  const AggregateReport whole = with_extras();
  ExplainReport r;
  r.status = "done";
  r.exit_code = 0;
  r.case_values = whole.case_values;
  r.case_sources = whole.case_sources;
  r.case_id = whole.case_id;
  r.topology = whole.topology;
  r.input = whole.input;
  ExplainReport::Finding f;
  f.name = "rollout_logprobs";
  f.dtype = "F32";
  f.digest = hex_c;
  f.finding = "cause";
  f.sentence = "temperature 0.7 is applied in bf16: explains 3 of 3 tokens bit for bit";
  f.rows = 3;
  f.drifting = 2;
  f.best = {{{{"temperature_native", "temperature in the logits' dtype", "divide in fp32"}},
             3,
             3,
             {0, 0},
             "fixed-tree"}};
  f.others = {{{}, 0, 1, {1e-3, infinity}, ""}};
  f.excluded = {"padding_in_lse"};
  f.untestable = {"kept_set: the dump says none"};
  f.parts = {{"temperature", -1e-3, 1e-3}, {"rest", 0, 0}};
  f.looks = {"one-signed"};
  f.drift = small_drift();
  f.noise = Noise{3, 1e-3, 0.5, 2, 3, 0};
  ExplainReport::Finding none = f;
  none.finding = "nothing";
  none.best.clear();
  none.noise.reset();
  r.findings = std::vector{f, none};
  r.environment = whole.environment;
  r.reproduce = "mpirun -np 2 drift-audit explain 'a b.safetensors' --tp 2";
  return r;
}

inline ExplainReport not_explained() {
  ExplainReport r = explained();
  r.status = "failed";
  r.exit_code = 3;
  r.topology.reset();
  r.input.reset();
  r.findings.reset();
  r.error = ErrorReport{3, "input", 0, "resolve", "no tensor is recorded"};
  return r;
}

inline AggregateReport drifted() {
  AggregateReport r = passed();
  r.status = "drift";
  r.exit_code = 1;
  r.gates->front() = {"candidates.fixed-tree.lse", 1e-7, infinity, 2, false, "derived"};
  return r;
}

/// Everything computed, but a row of the dump was not finite.
inline AggregateReport nonfinite() {
  AggregateReport r = passed();
  r.status = "failed";
  r.exit_code = 3;
  r.error = ErrorReport{3, "input", 0, "check the values", "2 active rows hold values that are not finite"};
  r.input->nonfinite = {{5, 17, 0, "nan"}, {6, -1, -1, "all_neg_inf"}};
  r.input->nonfinite_active = 2;
  r.candidates->front().logp.drift = worthless_drift();
  r.candidates->front().logp.worst = {{5, {0, 5}, 151, 1, std::numeric_limits<float>::quiet_NaN(), -1.5f}};
  r.candidates->front().input_rounding_lse = small_drift();
  r.candidates->front().input_rounding_logp = worthless_drift();
  r.gates->front().value = nan;
  return r;
}

inline RankReport rank(const std::string& status = "pass", int exit_code = 0) {
  RankReport r;
  r.status = status;
  r.exit_code = exit_code;
  r.case_id = "0123456789abcdef";
  r.rank = r.tp_rank = 1;
  r.rows = {{0, 2}, {6, 8}};
  r.columns = {100, 200};
  r.backend = "cpu";
  r.transport = "mpi";
  r.device_model = "a CPU";
  r.candidates = {{"fixed-tree", {hex_a, hex_b}, true}};
  return r;
}

inline RankReport failed_rank() {
  RankReport r = rank("failed", 5);
  r.rows.clear();
  r.columns = {};
  r.backend = r.transport = r.device_model = "";
  r.candidates.clear();
  r.error = ErrorReport{5, "device", 0, "start", "out of memory"};
  return r;
}

inline RunInfo run_info() {
  RunInfo r;
  r.started = "2026-01-02T03:04:05Z";
  r.seconds = {{"open", 0.25}, {"candidate", nan}};
  r.hosts = {"host"};
  r.pids = {41, 42};
  r.argv = {"drift-audit", "run", "a b.safetensors"};
  r.working_directory = "/somewhere";
  r.dump_path = "/somewhere/a b.safetensors";
  r.out_path = "/somewhere/out";
  r.bytes_read = 9'007'199'254'740'993;
  r.gigabytes_per_second = 1.5;
  return r;
}

}  // namespace drift::samples
