#pragma once

// What the user asked for: one field an option of `run`, under the option's own name.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace drift {

struct Config {
  std::string dump;  ///< DUMP as typed

  std::int64_t tp = 1, cp = 1;
  std::string cp_layout = "contiguous";  ///< contiguous | zigzag
  std::vector<std::int64_t>
      vocab_bounds;  ///< empty: even; else tp + 1 numbers from 0 to the padded vocabulary

  std::vector<std::string> formula{"fixed-tree"};  ///< ids, or "all"
  std::vector<std::string> plugin;                 ///< shared objects with kernels of the user's
  std::string backend = "auto";                    ///< auto | cpu | cuda
  std::string transport = "auto";                  ///< auto | mpi | nccl
  std::string candidate_dtype = "stored";          ///< stored | bf16 | f16 | f32

  double temperature = 1.0;
  std::string temperature_order = "f32";  ///< f32 | native | reciprocal
  std::int64_t real_vocab = 0;            ///< 0: the dump's metadata, else its last dimension
  std::string padding = "mask";           ///< mask | include
  std::int64_t top_k = 0;                 ///< <= 0: off
  double top_p = 1, min_p = 0;            ///< 1 and 0: off

  std::string logits, targets, mask;    ///< names; empty: found by the lists
  std::vector<std::string> recorded;    ///< [FILE:]NAME[=logp|lse]; empty: found by the lists
  std::vector<std::string> pair;        ///< "A:B"; empty: every two recorded tensors of a kind
  std::string targets_are = "shifted";  ///< shifted | input-ids
  std::int64_t ignore_index = -100;

  std::int64_t rows_per_chunk = 0;  ///< 0: as many as 64 MiB of logits hold
  std::int64_t worst = 16;
  bool row_stats = false;
  std::string metric_names = "none";  ///< none | verl | nemo | slime | trl | skyrl
  std::vector<std::string> strata;    ///< tables to print: names of stats/strata.hpp, or "all"

  std::string tolerance = "derived";  ///< derived | rl-kernel-ws1
  double atol = -1, rtol = -1;        ///< negative: not given
  std::vector<std::string> gate;
  std::vector<std::string> require;  ///< claims that the run must hold
  std::string certify = "sample";    ///< sample | all | off

  std::string out;  ///< empty: drift-reports/<case_id>
  bool force = false;
  double collective_timeout = 120;  ///< seconds
  bool quiet = false;
  bool verbose = false;
  bool dry_run = false;

  std::set<std::string> typed;  ///< kebab-case names of the options that were on the command line
};

}  // namespace drift
