#include "audit/audit_run.hpp"

#include <algorithm>
#include <set>

#include "audit/candidate_pass.hpp"
#include "audit/contract.hpp"
#include "audit/findings.hpp"
#include "audit/identity.hpp"
#include "audit/machine.hpp"
#include "audit/options.hpp"
#include "audit/verdict.hpp"
#include "report/case_id.hpp"
#include "report/environment.hpp"
#include "report/gate.hpp"
#include "report/reproduce.hpp"

namespace drift {

AuditRun::AuditRun(const Config& config, Control& world, const Machinery& machinery,
                   const std::string& command)
    : typed_(config), world_(world), machinery_(machinery), started_(machinery.now()) {
  report_.case_values = case_values(config);
  std::set<std::string> typed{"dump"};
  for (const std::string& name : config.typed) typed.insert(key_of(name));
  for (const auto& [key, value] : report_.case_values)  // what a run that fails before `resolve` can know
    report_.case_sources.emplace_back(key, typed.contains(key) ? "option" : "default");
  Config as_typed = config;
  if (!config.typed.contains("tp") && !config.typed.contains("cp"))
    as_typed.tp = as_typed.cp = 1;  // `explain` takes as many ranks as there are: the case is the same
  NamedValues identity = option_values(as_typed);
  if (command != "run") identity.emplace_back("command", command);  // its reports go to a folder of their own
  report_.case_id = case_id(identity, config.dump);
  report_.environment = collect_environment(machinery.environment, machinery.versions);
  std::vector<std::string> arguments = to_arguments(config);
  arguments.front() = command;
  report_.reproduce =
      reproduce(world.size(), machinery.program, arguments, report_.environment, machinery.launcher_flags);
}

void AuditRun::choose_hardware() {
  require(typed_.tp * typed_.cp == world_.size(), Fault::usage,
          "tp " + std::to_string(typed_.tp) + " x cp " + std::to_string(typed_.cp) + " wants " +
              std::to_string(typed_.tp * typed_.cp) + " rank(s), the world has " +
              std::to_string(world_.size()));
  backend_name_ = choose_backend(typed_.backend, machinery_, world_);
}

void AuditRun::open_dump() {
  dump_.emplace(DumpFile::open(typed_.dump));
  case_.emplace(resolve(typed_, *dump_, backend_name_));

  report_.case_values = case_values(case_->config);
  report_.case_sources = case_->sources;
  report_.topology = AggregateReport::Topology{.world = world_.size(),
                                               .tp = case_->grid.tp,
                                               .cp = case_->grid.cp,
                                               .cp_layout = case_->config.cp_layout};
}

void AuditRun::take_device() {
  if (!has_logits()) backend_name_ = "cpu";  // comparing two columns needs no device
  backend_ = make_backend(backend_name_, machinery_, world_);
  report_.environment.gpu_models.clear();
  if (!backend_->host_memory()) report_.environment.gpu_models.push_back(backend_->device_model());
}

void AuditRun::compare_contract() {
  report_.environment.differing_ranks = compare_contracts(*case_, *dump_, report_.environment, world_);
}

void AuditRun::prepare_folder() {
  if (is_first()) folder_.emplace(ReportFolder::prepare(typed_.out, typed_.force, report_.case_id));
  output_reached_ = true;
}

void AuditRun::connect_ranks() {
  axes_.emplace(case_->grid, world_);
  transport_name_ = choose_transport(typed_.transport, *backend_, machinery_, case_->grid, world_);
  collective_ = make_collective(transport_name_, *backend_, *axes_->tp, machinery_);
}

void AuditRun::load_inputs() {
  for (std::string& warning : check_identity(*case_, *dump_)) case_->warnings.push_back(std::move(warning));
  inputs_ = read_inputs(*case_, *dump_);
  for (const std::string& warning : inputs_.warnings) case_->warnings.push_back(warning);
}

void AuditRun::find_kept_sets() {
  kept_ = survey_kept(*case_, *dump_, inputs_, axes_->cp_rank, *axes_->tp, world_, *backend_);
}

Progress AuditRun::progress_of(const char* what) {
  // Quiet for the first ten seconds, then a line every five: a log of a long run stays readable.
  return [this, what, last = 5.0](std::int64_t done, std::int64_t all) mutable {
    const double now = stopwatch_.seconds();
    if (!is_first() || now < 10 || now < last + 5) return;
    last = now;
    machinery_.progress(std::string(what) + ": " + std::to_string(done) + " of " + std::to_string(all) +
                        " rows of rank 0");
  };
}

void AuditRun::compute_candidates() {
  candidates_ = run_candidates(*case_, *dump_, inputs_, kept_, axes_->cp_rank, *backend_, *collective_,
                               progress_of("candidates"));
  check_replicas(candidates_, *axes_->tp);
}

void AuditRun::compute_oracle() {
  oracle_ = run_oracle(*case_, *dump_, inputs_, kept_, axes_->cp_rank, axes_->tp_rank, *backend_,
                       progress_of("oracle"));
}

void AuditRun::gather() {
  rows_ = gather_rows(*case_, inputs_, world_, candidates_, oracle_);
  dump_->check_unchanged();
  for (const Recorded& recorded : case_->roles.recorded)
    if (recorded.other) recorded.other->check_unchanged();
}

void AuditRun::compare() {
  if (is_first()) {
    report_.input = input_of(*case_, *dump_, inputs_, kept_, rows_);
    report_.gates.emplace();
    if (has_logits()) {
      report_.contract = contract_of(*case_, inputs_, contract_fingerprint(*case_), transport_name_, rows_);
      report_.oracle = oracle_of(*case_, inputs_, rows_, backend_name_);
      report_.candidates = candidates_of(*case_, inputs_, rows_, {backend_name_, transport_name_});
      report_.rejected = case_->rejected;
      report_.gates = candidate_gates(*case_, rows_);
    }
    report_.recorded = recorded_of(*case_, inputs_, rows_);
    report_.pairs = pairs_of(*case_, inputs_, rows_);
    for (std::string& warning : zero_warnings(*case_, inputs_, rows_))
      case_->warnings.push_back(std::move(warning));
    report_.scope = compared_users() ? "user" : "self-check";
    const ReportValues values(report_);
    for (const std::string& expression : typed_.gate)
      report_.gates->push_back(evaluate(parse_gate(expression), values));
    reach_verdict();
  }
  share_verdict();
}

bool AuditRun::compared_users() const {
  const auto against_oracle = [](const RecordedReport& recorded) {
    return !recorded.vs.empty() && recorded.vs.front().second.drift.count > 0;
  };
  const auto is_recorded = [&](const std::string& name) {
    return std::any_of(report_.recorded->begin(), report_.recorded->end(),
                       [&](const RecordedReport& recorded) { return recorded.name == name; });
  };
  const auto against_each_other = [&](const PairReport& pair) {
    return pair.compared.drift.count > 0 && (is_recorded(pair.a) || is_recorded(pair.b));
  };
  const bool ran_a_kernel = !case_->plugins.empty() && report_.candidates->back().logp.drift.count > 0;
  return ran_a_kernel || std::any_of(report_.recorded->begin(), report_.recorded->end(), against_oracle) ||
         std::any_of(report_.pairs->begin(), report_.pairs->end(), against_each_other);
}

void AuditRun::reach_verdict() {
  report_.error.reset();
  const auto blame = [&](Fault fault, const std::string& message) {
    if (report_.error && report_.error->code <= static_cast<int>(fault)) return;
    report_.error = ErrorReport{.code = static_cast<int>(fault),
                                .fault = std::string(name(fault)),
                                .rank = 0,
                                .phase = "compare",
                                .message = message};
  };
  if (report_.input->nonfinite_active > 0) {
    const NonfiniteRow& first = report_.input->nonfinite.front();
    blame(Fault::input,
          std::to_string(report_.input->nonfinite_active) +
              " active row(s) hold values that have no log-prob (left out of every statistic): first row " +
              std::to_string(first.row) + ", column " + std::to_string(first.column) + ", " + first.kind);
  }
  if (!has_logits() && !compared_users())
    blame(Fault::input,
          "no token could be compared (an empty comparison must not pass): no active row holds finite values "
          "in both tensors of a pair");
  for (std::size_t c = 0; report_.candidates && c < report_.candidates->size(); ++c)
    if (const CandidateReport& candidate = (*report_.candidates)[c]; !candidate.replicated)
      blame(Fault::comm, "the ranks of a TP group hold different bits after the merge of " +
                             candidate.formula + " (a collective or a rank's memory is at fault)");
  if (const auto& oracle = report_.oracle;
      oracle && (!(oracle->lse_worst <= 1) || !(oracle->logp_worst <= 1)))
    blame(Fault::internal, "the oracle is outside its own error bound (no verdict can rest on it): lse at " +
                               to_text(oracle->lse_worst) + " of the bound, logp at " +
                               to_text(oracle->logp_worst));

  const bool within =
      std::all_of(report_.gates->begin(), report_.gates->end(), [](const GateReport& g) { return g.passed; });
  report_.status = report_.error ? "failed" : within ? "pass" : "drift";
  report_.exit_code = report_.error ? report_.error->code : within ? 0 : 1;
}

Outcome AuditRun::outcome() const { return {.exit_code = report_.exit_code, .error = report_.error}; }

}  // namespace drift
