// aggregate.json, from top to bottom.

#include "report/comparison_json.hpp"
#include "report/environment_json.hpp"
#include "report/input_json.hpp"
#include "report/parts_json.hpp"
#include "report/to_json.hpp"
#include "report/values_json.hpp"

namespace drift {
namespace {

Json contract_json(const ContractReport& contract) {
  const Json determinism{
      {"required", contract.required}, {"claimed", contract.claimed}, {"measured", contract.measured}};
  return {{"fingerprint", contract.fingerprint},
          {"sharding",
           {{"vocab_bounds", contract.vocab_bounds},
            {"real_vocab", contract.real_vocab},
            {"padded_vocab", contract.padded_vocab}}},
          {"mask",
           {{"ignore_index", contract.ignore_index},
            {"active_rows", contract.active_rows},
            {"digest", contract.mask_digest}}},
          {"reduction",
           {{"merge", contract.merge},
            {"axis", "tp_vocab"},
            {"acc_dtype", contract.acc_dtype},
            {"order", contract.order},
            {"transport", contract.transport},
            {"downcast_at", contract.downcast_at},
            {"cp_is_merge_axis", false},
            {"determinism", determinism}}},
          {"output", {{"dtype", "F32"}, {"tp_placement", "replicated"}}}};
}

Json row_stat_json(const RowStatReport& stat) {
  return {{"mean", number(stat.mean)}, {"least", number(stat.least)}, {"greatest", number(stat.greatest)}};
}

Json oracle_json(const OracleReport& oracle) {
  Json out{{"implementation", oracle.implementation},
           {"backend", oracle.backend},
           {"certified",
            {{"rows", oracle.certified_rows},
             {"lse_worst", number(oracle.lse_worst)},
             {"logp_worst", number(oracle.logp_worst)}}},
           {"digests", digests_json(oracle.digests)}};
  if (oracle.entropy) out["row_stats"]["entropy"] = row_stat_json(*oracle.entropy);
  if (oracle.sum_p2) out["row_stats"]["sum_p2"] = row_stat_json(*oracle.sum_p2);
  return out;
}

Json candidate_json(const CandidateReport& candidate) {
  Json out{
      {"formula", candidate.formula},
      {"backend", {{"requested", candidate.backend_requested}, {"actual", candidate.backend_actual}}},
      {"transport", {{"requested", candidate.transport_requested}, {"actual", candidate.transport_actual}}},
      {"claims", candidate.claims},
      {"drift", {{"lse", stats_json(candidate.lse.drift)}, {"logp", stats_json(candidate.logp.drift)}}}};
  if (candidate.input_rounding_lse && candidate.input_rounding_logp)
    out["input_rounding"] = {{"lse", stats_json(*candidate.input_rounding_lse)},
                             {"logp", stats_json(*candidate.input_rounding_logp)}};
  out["worst"] = {{"lse", tokens_json(candidate.lse.worst)}, {"logp", tokens_json(candidate.logp.worst)}};
  out["replicated"] = candidate.replicated;
  out["digests"] = digests_json(candidate.digests);
  return out;
}

Json gate_json(const GateReport& gate) {
  return {{"name", gate.name},           {"limit", number(gate.limit)}, {"value", number(gate.value)},
          {"rows_over", gate.rows_over}, {"passed", gate.passed},       {"from", gate.from}};
}

Json rank_entry_json(const RankEntry& rank) {
  return {{"file", rank.file},
          {"digest", rank.digest},
          {"rank", rank.rank},
          {"tp_rank", rank.tp_rank},
          {"cp_rank", rank.cp_rank},
          {"rows", ranges_json(rank.rows)},
          {"columns", range_json(rank.columns)}};
}

Json rejected_json(const std::pair<std::string, std::string>& rejected) {
  return {{"formula", rejected.first}, {"reason", rejected.second}};
}

}  // namespace

std::string to_json(const AggregateReport& report) {
  Json out{{"schema", schema_json("drift-audit/aggregate")},
           {"status", report.status},
           {"exit_code", report.exit_code},
           {"scope", report.scope},
           {"case", values_json(report.case_values)},
           {"case_sources", sources_json(report.case_sources)}};
  out["case_id"] = report.case_id;
  if (report.topology) out["topology"] = topology_json(*report.topology);
  if (report.contract) out["contract"] = contract_json(*report.contract);
  if (report.input) out["input"] = input_json(*report.input);
  if (report.oracle) out["oracle"] = oracle_json(*report.oracle);
  if (report.candidates) out["candidates"] = list(*report.candidates, candidate_json);
  if (report.rejected) out["rejected"] = list(*report.rejected, rejected_json);
  if (report.recorded) out["recorded"] = list(*report.recorded, recorded_json);
  if (report.pairs) out["pairs"] = list(*report.pairs, pair_json);
  if (report.gates) out["gates"] = list(*report.gates, gate_json);
  if (report.ranks) out["ranks"] = list(*report.ranks, rank_entry_json);
  out["environment"] = environment_json(report.environment);
  if (report.error) out["error"] = error_json(*report.error);
  out["reproduce"] = report.reproduce;
  return document(out);
}

}  // namespace drift
