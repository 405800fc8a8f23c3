#pragma once

// What a run found, as plain structs: `to_json` copies them into design order and computes nothing.
// A key that a failed run did not reach is an empty optional.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/range.hpp"
#include "base/value.hpp"
#include "stats/drift.hpp"
#include "stats/mismatch.hpp"
#include "stats/noise.hpp"
#include "stats/strata.hpp"

namespace drift {

struct Token {
  std::int64_t row = 0;
  std::vector<std::int64_t> position;  ///< [b, s] or [t]
  std::optional<std::int64_t> target;  ///< log-prob tokens only
  std::optional<std::int64_t> owner_tp_rank;
  float candidate = 0, reference = 0;
};

struct Compared {
  Drift drift;
  std::vector<Token> worst;
  std::optional<Noise> noise{};  ///< log-probs against the oracle: |d| in units of the logits' own rounding
  std::vector<Strata> strata{};  ///< log-probs that the user's system recorded
};

struct LseLogp {
  std::string lse, logp;  ///< xxh3-128 of fp32 bits in global row order, hex
};

struct CandidateReport {
  std::string formula;
  std::string backend_requested, backend_actual, transport_requested, transport_actual;
  std::vector<std::string> claims;
  Compared lse, logp;
  std::optional<Drift> input_rounding_lse, input_rounding_logp;  ///< with --candidate-dtype
  bool replicated = true;  ///< all ranks of each TP group held the same bits
  LseLogp digests;
};

struct RecordedReport {
  std::string name, dtype, digest;
  std::string file = {};       ///< as typed; "": the dump itself
  std::string kind = "logp";                         ///< logp | lse
  std::vector<std::pair<std::string, Compared>> vs;  ///< "oracle", then formula ids; empty without logits
};

/// Two columns of one row order against each other; d = a - b. a is the training side where names tell.
struct PairReport {
  std::string name, a, b;     ///< name: "a:b"; a, b: recorded names, "oracle" or formula ids
  std::string kind = "logp";  ///< logp | lse
  bool permuted = false;      ///< the same values in another order: rows do not belong together
  Compared compared;
  std::optional<Mismatch> metrics;  ///< log-probs only
  std::vector<std::pair<std::string, double>>
      framework_metrics;  ///< with --metric-names: the framework's own names
};

/// Of the vocabulary distribution of the active rows (--row-stats).
struct RowStatReport {
  double mean = 0, least = 0, greatest = 0;
};

/// What top-k, top-p, min-p or kept sets left of the vocabulary in the active rows.
struct KeptReport {
  std::string from;                   ///< "top_k 50, top_p 0.9", "kept_ids", "kept_mask"
  std::int64_t fewest = 0, most = 0;  ///< columns kept in a row
  std::int64_t boundary_rows = 0;     ///< rows in which fp32 rounding could move the top-p boundary
};

struct GateReport {
  std::string name;  ///< path of the value, or the expression of --gate
  double limit = 0, value = 0;
  std::int64_t rows_over = 0;
  bool passed = true;
  std::string from;  ///< derived | option | profile:<name>
};

struct RankEntry {  ///< aggregate.json's line about one rank report
  std::string file, digest;
  int rank = 0, tp_rank = 0, cp_rank = 0;
  std::vector<Range> rows;
  Range columns;
};

struct NonfiniteRow {
  std::int64_t row = 0, column = -1;
  int owner_tp_rank = -1;
  std::string kind;  ///< nan | inf | all_neg_inf | target_neg_inf
};

struct TensorReport {
  std::string name, dtype, digest;
  std::vector<std::int64_t> shape;
};

struct InputReport {
  struct File {
    std::string name, header_digest;
    std::int64_t bytes = 0;
  };
  std::vector<File> files;
  std::optional<TensorReport> logits, targets;  ///< absent where only pairs are compared
  std::int64_t rounded_values = 0;
  std::optional<TensorReport> mask, temperature;
  std::optional<KeptReport> kept;
  std::int64_t real_vocab = 0, padded_vocab = 0;
  std::int64_t rows = 0, active_rows = 0, masked_values = 0;
  std::vector<NonfiniteRow> nonfinite;  ///< of active rows, first 16
  std::int64_t nonfinite_active = 0, nonfinite_inactive = 0;
};

struct ContractReport {
  std::string fingerprint;
  std::vector<std::int64_t> vocab_bounds;
  std::int64_t real_vocab = 0, padded_vocab = 0;
  std::int64_t ignore_index = -100, active_rows = 0;
  std::string mask_digest;
  /// How partial sums of a row are merged over TP, what they are kept in, in which order, and where fp32 is
  /// first rounded to less. "by_formula": the candidates of this run do not share it.
  std::string merge = "by_formula", acc_dtype = "F32", order = "by_formula", downcast_at = "final_write";
  std::string transport;
  std::vector<std::string> required, claimed, measured;  ///< determinism claims
};

struct OracleReport {
  std::string implementation, backend;
  std::int64_t certified_rows = 0;
  double lse_worst = 0, logp_worst = 0;
  LseLogp digests;
  std::optional<RowStatReport> entropy{}, sum_p2{};  ///< --row-stats
};

struct ErrorReport {
  int code = 8;
  std::string fault;  ///< "class" in JSON
  int rank = 0;
  std::string phase, message;
};

struct Environment {
  std::map<std::string, std::string>
      versions;                         ///< drift_audit, revision, compiler, cuda, nccl, mpi, driver ...
  std::vector<std::string> gpu_models;  ///< one a distinct model
  std::map<std::string, std::string> variables;  ///< set ones of the allow-list
  std::vector<int> differing_ranks;              ///< ranks whose environment or build differs from rank 0's
};

struct AggregateReport {
  std::string status = "failed";  ///< pass | drift | failed
  int exit_code = 8;
  std::string scope = "self-check";  ///< user | self-check
  NamedValues case_values;           ///< "case"
  std::vector<std::pair<std::string, std::string>> case_sources;
  std::string case_id;
  struct Topology {
    int world = 1, tp = 1, cp = 1;
    std::string cp_layout;
  };
  std::optional<Topology> topology;
  std::optional<ContractReport> contract;
  std::optional<InputReport> input;
  std::optional<OracleReport> oracle;
  std::optional<std::vector<CandidateReport>> candidates;
  std::optional<std::vector<std::pair<std::string, std::string>>> rejected;  ///< formula, reason
  std::optional<std::vector<RecordedReport>> recorded;
  std::optional<std::vector<PairReport>> pairs;
  std::optional<std::vector<GateReport>> gates;
  std::optional<std::vector<RankEntry>> ranks;
  Environment environment;
  std::optional<ErrorReport> error;
  std::string reproduce;
};

struct RankReport {
  std::string status;
  int exit_code = 8;
  std::string case_id;
  int rank = 0, tp_rank = 0, cp_rank = 0;
  std::vector<Range> rows;
  Range columns;
  std::string backend, transport, device_model;
  std::int64_t oracle_rows = 0;
  std::int64_t nonfinite = 0;
  struct Candidate {
    std::string formula;
    LseLogp digests;  ///< of this rank's rows
    bool replicated = true;
  };
  std::vector<Candidate> candidates;
  std::optional<ErrorReport> error;
};

/// What differs between two runs of the same audit, and so stands apart from the reports.
struct RunInfo {
  std::string started;                                  ///< ISO 8601, UTC
  std::vector<std::pair<std::string, double>> seconds;  ///< per phase
  std::vector<std::string> hosts, device_uuids, argv;
  std::vector<std::int64_t> pids;
  std::string working_directory, dump_path, out_path;
  std::int64_t bytes_read = 0;
  double gigabytes_per_second = 0;
};

}  // namespace drift
