// explain.json, from top to bottom.

#include "report/comparison_json.hpp"
#include "report/environment_json.hpp"
#include "report/explain_report.hpp"
#include "report/input_json.hpp"
#include "report/parts_json.hpp"
#include "report/to_json.hpp"
#include "report/values_json.hpp"

namespace drift {
namespace {

Json cause_json(const ExplainReport::Cause& cause) {
  return {{"id", cause.id}, {"what", cause.what}, {"remedy", cause.remedy}};
}

Json hypothesis_json(const ExplainReport::Hypothesis& hypothesis) {
  return {{"causes", list(hypothesis.causes, cause_json)},
          {"bits", hypothesis.bits},
          {"within", hypothesis.within},
          {"residual",
           {{"mean_abs", number(hypothesis.residual.mean_abs)},
            {"max_abs", number(hypothesis.residual.max_abs)}}},
          {"formula", hypothesis.formula}};
}

Json part_json(const ExplainReport::Part& part) {
  return {{"name", part.name}, {"mean", number(part.mean)}, {"mean_abs", number(part.mean_abs)}};
}

Json finding_json(const ExplainReport::Finding& finding) {
  Json out{{"name", finding.name},
           {"dtype", finding.dtype},
           {"digest", finding.digest},
           {"finding", finding.finding},
           {"sentence", finding.sentence},
           {"rows", finding.rows},
           {"drifting", finding.drifting},
           {"best", list(finding.best, hypothesis_json)},
           {"others", list(finding.others, hypothesis_json)},
           {"excluded", finding.excluded},
           {"untestable", finding.untestable},
           {"parts", list(finding.parts, part_json)},
           {"looks", finding.looks},
           {"drift", stats_json(finding.drift)}};
  if (finding.noise) out["noise"] = noise_json(*finding.noise);
  return out;
}

}  // namespace

std::string to_json(const ExplainReport& report) {
  Json out{{"schema", schema_json("drift-audit/explain")},
           {"status", report.status},
           {"exit_code", report.exit_code},
           {"case", values_json(report.case_values)},
           {"case_sources", sources_json(report.case_sources)},
           {"case_id", report.case_id}};
  if (report.topology) out["topology"] = topology_json(*report.topology);
  if (report.input) out["input"] = input_json(*report.input);
  if (report.findings) out["findings"] = list(*report.findings, finding_json);
  out["environment"] = environment_json(report.environment);
  if (report.error) out["error"] = error_json(*report.error);
  out["reproduce"] = report.reproduce;
  return document(out);
}

}  // namespace drift
