#pragma once

// Reports filled in by hand, for the tests of this folder.

#include <limits>
#include <string>

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
  in.logits = {"logits", "BF16", hex_b, {1, 8, 200}};
  in.targets = {"targets", "I64", hex_c, {1, 8}};
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
  RecordedReport recorded{"rollout_logprobs", "F32", hex_c, {}};
  recorded.vs.emplace_back("oracle", Compared{small_drift(), {logp_token()}});
  recorded.vs.emplace_back("fixed-tree", Compared{small_drift(), {logp_token()}});
  RecordedReport dotted = recorded;
  dotted.name = "old.policy \"x\"";
  r.recorded = std::vector{recorded, dotted};
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
