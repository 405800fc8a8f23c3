#include "audit/explain_run.hpp"

#include <algorithm>

#include "audit/audit.hpp"
#include "audit/console_explain.hpp"
#include "audit/findings.hpp"
#include "audit/parcel.hpp"
#include "audit/story.hpp"
#include "report/to_json.hpp"

namespace drift {
namespace {

constexpr std::size_t sampled_rows = 32;

/// Formulas run under a reading of their own: the case, and the inputs whose temperatures it uses.
struct ReadAnew {
  Case run;
  Inputs inputs;
};

ReadAnew read_anew(const Case& run, const Inputs& inputs, const Variant& way, bool with_padding) {
  ReadAnew out{run, inputs};
  out.run.candidate = way.rule;
  if (with_padding) out.run.vocab = run.padded_vocab;
  for (float& temperature : out.inputs.temperature) temperature = rule_in_row(way, temperature).temperature;
  return out;
}

/// Nothing is left that a fitted number could explain.
bool is_settled(const Explanation& explanation) {
  switch (explanation.finding) {
    case Finding::exact:
    case Finding::formula_order:
    case Finding::noise: return true;
    case Finding::cause:
    case Finding::several: return explanation.best.front().within == explanation.rows;
    case Finding::nothing: break;
  }
  return false;
}

ExplainReport::Hypothesis hypothesis(const Candidate& candidate) {
  ExplainReport::Hypothesis out{.causes = {},
                                .bits = candidate.bits,
                                .within = candidate.within,
                                .residual = {candidate.residual_mean_abs, candidate.residual_max_abs},
                                .formula = candidate.formula};
  for (const Cause& cause : candidate.causes) out.causes.push_back({cause.id, cause.what, cause.remedy});
  return out;
}

std::string name(Finding finding) {
  switch (finding) {
    case Finding::exact: return "exact";
    case Finding::formula_order: return "formula_order";
    case Finding::noise: return "noise";
    case Finding::cause: return "cause";
    case Finding::several: return "several";
    case Finding::nothing: break;
  }
  return "nothing";
}

void tell(ExplainRun& run, const Phases& phase) {
  phase("backend", [&] { run.choose_hardware(); });
  phase("open", [&] { run.open_dump(); });
  phase("request", [&] { run.check_request(); });
  phase("device", [&] { run.take_device(); });
  phase("contract", [&] { run.compare_contract(); });
  phase("output", [&] { run.prepare_folder(); });
  phase("connect", [&] { run.connect_ranks(); });
  phase("load", [&] { run.load_inputs(); });
  phase("kept_sets", [&] { run.find_kept_sets(); });
  phase("candidates", [&] { run.compute_candidates(); });
  phase("oracle", [&] { run.compute_oracle(); });
  phase("gather", [&] { run.gather(); });
  phase("survey", [&] { run.survey(); });
  phase("search", [&] { run.search(); });
  phase("fit", [&] { run.fit(); });
  phase("formulas", [&] { run.try_formulas(); });
  phase("report", [&] { run.write_report(); });
}

}  // namespace

ExplainRun::ExplainRun(const Config& config, Control& world, const Machinery& machinery)
    : AuditRun(config, world, machinery, "explain") {}

std::vector<std::size_t> ExplainRun::explained() const {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < case_->roles.recorded.size(); ++i)
    if (case_->roles.recorded[i].kind == RecordedKind::logp) out.push_back(i);
  return out;
}

void ExplainRun::check_request() {
  require(has_logits(), Fault::input,
          "the dump has no logits, so no cause can be computed (compare recorded tensors with `drift-audit "
          "run`)");
  require(!explained().empty(), Fault::input,
          "the dump holds no recorded log-probs to explain (known names: " + known_recorded_names() +
              "; or --recorded)");
}

void ExplainRun::survey() {
  survey_ = empty_survey(*case_, inputs_);
  survey_rows(survey_, 0, *case_, *dump_, inputs_, kept_, *axes_, *backend_, progress_of("survey"));
  if (!is_first()) return;
  survey_.use = rows_.logp_rows;
  for (const RowSpread& row : rows_.spread) {  // the oracle's pass has seen to it
    survey_.sigma.push_back(static_cast<float>(row.sigma));
    survey_.entropy.push_back(static_cast<float>(row.entropy));
  }
  for (std::size_t f = 0; f < case_->formulas.size(); ++f)
    survey_.formulas.push_back(
        {.formula = std::string(case_->formulas[f]->id), .logp = rows_.candidates[f].logp});
}

void ExplainRun::fit() {
  std::vector<Variant> fitted;
  if (is_first()) {
    std::vector<SampleRow> samples;
    const std::vector<std::size_t> tensors = explained();
    for (std::size_t e = 0; e < tensors.size(); ++e) {
      if (is_settled(explanations_[e])) continue;
      const std::size_t i = tensors[e];
      if (samples.empty()) samples = read_samples(*case_, *dump_, rows_to_sample(survey_.use, sampled_rows));
      Variant way{
          .id = "temperature_fitted", .rule = survey_.variants[0].rule, .truncation = case_->truncation};
      if (const auto temperature = fitted_temperature(samples, survey_, inputs_.recorded[i])) {
        way.rule.temperature = static_cast<float>(*temperature);
        fitted.push_back(way);
      }
      way = {.id = "truncation_fitted", .rule = survey_.variants[0].rule, .truncation = {}};
      if (const auto truncation = fitted_truncation(samples, survey_, inputs_.recorded[i])) {
        way.truncation = *truncation;
        fitted.push_back(way);
      }
    }
  }
  ParcelWriter parcel;
  for (const Variant& way : fitted) {
    parcel.put_text(way.id);
    parcel.put_value(way.rule);
    parcel.put_value(way.truncation);
  }
  const auto bytes = world_.broadcast(parcel.bytes());
  const std::size_t known = survey_.variants.size();
  for (ParcelReader reader(bytes); !reader.empty();) {
    Variant way;
    way.id = reader.take_text();
    way.rule = reader.take_value<ValueRule>();
    way.truncation = reader.take_value<Truncation>();
    survey_.variants.push_back(way);
  }
  if (survey_.variants.size() == known) return;
  survey_rows(survey_, known, *case_, *dump_, inputs_, kept_, *axes_, *backend_, progress_of("fit"));
  search();
}

void ExplainRun::search() {
  if (!is_first()) return;
  explanations_.clear();
  for (const std::size_t i : explained()) explanations_.push_back(explain(survey_, inputs_.recorded[i]));
}

std::vector<ExplainRun::Reading> ExplainRun::readings_to_try() const {
  std::vector<Reading> out;
  for (const Explanation& explanation : explanations_) {
    if (explanation.best.empty()) continue;
    const Reading reading{explanation.best.front().variant, explanation.best.front().with_padding};
    const bool as_truncated = is_truncated_as(survey_.variants[reading.variant], survey_.variants[0]);
    if (reading != Reading{} && as_truncated && std::find(out.begin(), out.end(), reading) == out.end())
      out.push_back(reading);
  }
  return out;
}

void ExplainRun::try_formulas() {
  ParcelWriter parcel;
  if (is_first()) parcel.put(readings_to_try());
  const auto bytes = world_.broadcast(parcel.bytes());
  const std::vector<Reading> readings = ParcelReader(bytes).take<Reading>();
  for (const Reading& reading : readings) run_formulas(reading);
  if (!readings.empty()) search();
}

void ExplainRun::run_formulas(const Reading& reading) {
  const ReadAnew anew = read_anew(*case_, inputs_, survey_.variants[reading.variant], reading.with_padding);
  const CandidatePass pass = run_candidates(anew.run, *dump_, anew.inputs, kept_, axes_->cp_rank, *backend_,
                                            *collective_, progress_of("formulas"));
  std::vector<std::vector<float>> logp;
  for (const RowValues& values : pass.values) logp.push_back(values.logp);
  const std::vector<std::vector<float>> all = gather_columns(*case_, world_, logp);
  for (std::size_t f = 0; f < all.size(); ++f)
    survey_.formulas.push_back({.formula = std::string(case_->formulas[f]->id),
                                .variant = reading.variant,
                                .with_padding = reading.with_padding,
                                .logp = all[f]});
}

void ExplainRun::write_report() {
  const auto surroundings = gather_surroundings();
  report_.status = "done";
  report_.exit_code = 0;
  if (!is_first()) return;
  report_.input = input_of(*case_, *dump_, inputs_, kept_, rows_);
  report_.oracle = oracle_of(*case_, inputs_, rows_, backend_name_);
  report_.candidates = candidates_of(*case_, inputs_, rows_, {backend_name_, transport_name_});
  report_.recorded = recorded_of(*case_, inputs_, rows_);
  for (std::string& warning : zero_warnings(*case_, inputs_, rows_))
    case_->warnings.push_back(std::move(warning));
  folder_->write("run.json", to_json(run_info(surroundings)));
  const Document whole = document();
  folder_->write(whole.file, whole.text);
  say(lines(folder_->path()));
}

ExplainReport ExplainRun::report() const {
  ExplainReport out{.status = report_.status,
                    .exit_code = report_.exit_code,
                    .case_values = report_.case_values,
                    .case_sources = report_.case_sources,
                    .case_id = report_.case_id,
                    .topology = report_.topology,
                    .input = report_.input,
                    .findings = {},
                    .environment = report_.environment,
                    .error = report_.error,
                    .reproduce = report_.reproduce};
  if (report_.status != "done") return out;
  out.findings.emplace();
  const std::vector<std::size_t> tensors = explained();
  for (std::size_t e = 0; e < explanations_.size(); ++e) {
    const Explanation& explanation = explanations_[e];
    const RecordedReport& recorded = (*report_.recorded)[tensors[e]];
    ExplainReport::Finding finding{.name = recorded.name,
                                   .dtype = recorded.dtype,
                                   .digest = recorded.digest,
                                   .finding = name(explanation.finding),
                                   .sentence = explanation.sentence,
                                   .rows = explanation.rows,
                                   .drifting = explanation.drifting,
                                   .best = {},
                                   .others = {},
                                   .excluded = explanation.excluded,
                                   .untestable = explanation.untestable,
                                   .parts = {},
                                   .looks = explanation.looks,
                                   .drift = recorded.vs.front().second.drift,
                                   .noise = recorded.vs.front().second.noise};
    for (const Candidate& candidate : explanation.best) finding.best.push_back(hypothesis(candidate));
    for (const Candidate& candidate : explanation.others) finding.others.push_back(hypothesis(candidate));
    for (const Part& part : explanation.parts) finding.parts.push_back({part.name, part.mean, part.mean_abs});
    out.findings->push_back(std::move(finding));
  }
  return out;
}

AuditRun::Document ExplainRun::document() const { return {"explain.json", to_json(report())}; }

std::vector<std::string> ExplainRun::lines(const std::string& folder) const {
  return console_explanation(report_, report(), folder, case_ ? case_->warnings : std::vector<std::string>{},
                             typed_.quiet);
}

Outcome explain_dump(const Config& config, Control& world, const Machinery& machinery) {
  ExplainRun run(config, world, machinery);
  return told(run, world, tell);
}

}  // namespace drift
