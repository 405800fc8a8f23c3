#pragma once

// What one rank holds while it goes through the phases of audit.cpp, and the step of each phase.

#include <memory>
#include <optional>

#include "audit/all_rows.hpp"
#include "audit/audit.hpp"
#include "audit/case.hpp"
#include "audit/inputs.hpp"
#include "audit/oracle_pass.hpp"
#include "audit/stopwatch.hpp"
#include "comm/agree.hpp"
#include "comm/axes.hpp"
#include "report/folder.hpp"

namespace drift {

class AuditRun {
 public:
  /// `command`: of the program, as the reproduce line has it.
  AuditRun(const Config& config, Control& world, const Machinery& machinery,
           const std::string& command = "run");
  virtual ~AuditRun() = default;

  void choose_hardware();     ///< CPU or GPU, by a decision of all ranks
  void open_dump();           ///< header, roles, options against metadata: the case
  void take_device();         ///< this rank's part of it
  void compare_contract();    ///< the same dump, build and options everywhere
  void prepare_folder();      ///< rank 0: --out can be written
  void connect_ranks();       ///< TP groups and their transport
  void load_inputs();         ///< targets, mask, recorded values; whether they are about the same tokens
  void find_kept_sets();      ///< top-k, top-p, min-p, or the dump's own: what the LSE runs over
  void compute_candidates();  ///< every formula over this rank's shard
  void compute_oracle();      ///< whole rows, referee, census
  void gather();              ///< everything to rank 0
  void compare();             ///< statistics, gates, verdict; every rank learns the verdict
  void write_reports();       ///< rank reports, tokens, run, aggregate

  bool has_logits() const { return case_->has_logits(); }
  void lap(const char* phase) { stopwatch_.lap(phase); }
  Outcome outcome() const;
  /// After an error that all ranks agreed on (or that cut this one off): the report that says so.
  Outcome fail(const AgreedError& error) noexcept;

 protected:
  /// The report that tells everything, whether the run got to its end or not.
  struct Document {
    std::string file, text;
  };
  virtual Document document() const;
  /// What rank 0 prints.
  virtual std::vector<std::string> lines(const std::string& folder) const;

  bool is_first() const { return world_.rank() == 0; }
  Progress progress_of(const char* what);
  void say(const std::vector<std::string>& lines) const;
  RunInfo run_info(const std::vector<std::vector<std::byte>>& surroundings) const;
  std::vector<std::vector<std::byte>> gather_surroundings();

 private:
  void reach_verdict();
  bool compared_users() const;
  void share_verdict();
  RankReport rank_report() const;
  void write_token_columns();
  void write_failure(const AgreedError& error);

 protected:
  const Config& typed_;
  Control& world_;
  const Machinery& machinery_;
  Stopwatch stopwatch_;
  std::string started_;
  AggregateReport report_;  ///< filled as the phases pass; rank 0's is written

  std::string backend_name_, transport_name_;
  std::optional<DumpFile> dump_;
  std::optional<Case> case_;
  std::unique_ptr<Backend> backend_;
  std::optional<ReportFolder> folder_;  ///< rank 0
  bool output_reached_ = false;         ///< this rank was in phase "output"
  std::optional<Axes> axes_;
  std::unique_ptr<Collective> collective_;
  Inputs inputs_;
  KeptRows kept_;
  CandidatePass candidates_;
  OraclePass oracle_;
  AllRows rows_;
};

}  // namespace drift
