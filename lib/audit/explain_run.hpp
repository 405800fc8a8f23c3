#pragma once

// `explain`: the first phases of a run, then a survey of the logits, and for every recorded tensor the search
// for the cause of its drift.

#include "audit/audit_run.hpp"
#include "audit/survey_pass.hpp"
#include "explain/explain.hpp"
#include "report/explain_report.hpp"

namespace drift {

class ExplainRun : public AuditRun {
 public:
  ExplainRun(const Config& config, Control& world, const Machinery& machinery);

  void check_request();  ///< logits and a recorded log-prob: nothing can be explained without
  void survey();         ///< one pass over the logits under every reading that is known beforehand
  void search();         ///< the cause of each recorded tensor's drift
  void fit();  ///< where none is found: a temperature and a truncation that sampled rows ask for, and again
  void try_formulas();  ///< whose order it is, under the readings that explain it
  void write_report();

 protected:
  Document document() const override;
  std::vector<std::string> lines(const std::string& folder) const override;

 private:
  /// How formulas have to be run to tell whose bits these are.
  struct Reading {
    std::size_t variant = 0;
    bool with_padding = false;
    friend bool operator==(const Reading&, const Reading&) = default;
  };

  std::vector<Reading> readings_to_try() const;
  void run_formulas(const Reading& reading);
  std::vector<std::size_t> explained() const;  ///< indices of the recorded log-prob tensors
  ExplainReport report() const;

  Survey survey_;
  std::vector<Explanation> explanations_;  ///< rank 0: one each of explained()
};

/// Explain every recorded log-prob tensor of the dump. As `audit`.
Outcome explain_dump(const Config& config, Control& world, const Machinery& machinery);

}  // namespace drift
