// aggregate.json, from top to bottom.

#include "report/environment_json.hpp"
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

Json tensor_json(const TensorReport& tensor) {
  return {{"name", tensor.name}, {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"digest", tensor.digest}};
}

Json input_json(const InputReport& input) {
  Json files = Json::array(), nonfinite = Json::array();
  for (const InputReport::File& file :
       input.files)  // sizes are text: JSON readers may hold numbers as doubles
    files.push_back(
        {{"name", file.name}, {"bytes", std::to_string(file.bytes)}, {"header_digest", file.header_digest}});
  for (const NonfiniteRow& row : input.nonfinite)
    nonfinite.push_back(
        {{"row", row.row}, {"column", row.column}, {"owner_tp_rank", row.owner_tp_rank}, {"kind", row.kind}});
  Json out{{"files", files}, {"logits", tensor_json(input.logits)}};
  out["logits"]["rounded_values"] = input.rounded_values;
  out["targets"] = tensor_json(input.targets);
  if (input.mask) out["mask"] = tensor_json(*input.mask);
  out["vocabulary"] = {{"real", input.real_vocab}, {"padded", input.padded_vocab}};
  out["rows"] = input.rows;
  out["active_rows"] = input.active_rows;
  out["masked_values"] = input.masked_values;
  out["nonfinite"] = {{"active_rows", nonfinite},
                      {"active_row_count", input.nonfinite_active},
                      {"inactive_row_count", input.nonfinite_inactive}};
  return out;
}

Json oracle_json(const OracleReport& oracle) {
  return {{"implementation", oracle.implementation},
          {"backend", oracle.backend},
          {"certified",
           {{"rows", oracle.certified_rows},
            {"lse_worst", number(oracle.lse_worst)},
            {"logp_worst", number(oracle.logp_worst)}}},
          {"digests", digests_json(oracle.digests)}};
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

Json recorded_json(const RecordedReport& recorded) {
  Json vs = Json::object();
  for (const auto& [against, compared] : recorded.vs)
    vs[against] = {{"drift", stats_json(compared.drift)}, {"worst", tokens_json(compared.worst)}};
  return {{"name", recorded.name}, {"dtype", recorded.dtype}, {"digest", recorded.digest}, {"vs", vs}};
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

template <class T>
Json list(const std::vector<T>& items, Json (*one)(const T&)) {
  Json out = Json::array();
  for (const T& item : items) out.push_back(one(item));
  return out;
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
           {"case", values_json(report.case_values)}};
  Json sources = Json::object();
  for (const auto& [option, source] : report.case_sources) sources[option] = source;
  out["case_sources"] = sources;
  out["case_id"] = report.case_id;
  if (report.topology)
    out["topology"] = {{"world", report.topology->world},
                       {"tp", report.topology->tp},
                       {"cp", report.topology->cp},
                       {"cp_layout", report.topology->cp_layout}};
  if (report.contract) out["contract"] = contract_json(*report.contract);
  if (report.input) out["input"] = input_json(*report.input);
  if (report.oracle) out["oracle"] = oracle_json(*report.oracle);
  if (report.candidates) out["candidates"] = list(*report.candidates, candidate_json);
  if (report.rejected) out["rejected"] = list(*report.rejected, rejected_json);
  if (report.recorded) out["recorded"] = list(*report.recorded, recorded_json);
  if (report.gates) out["gates"] = list(*report.gates, gate_json);
  if (report.ranks) out["ranks"] = list(*report.ranks, rank_entry_json);
  out["environment"] = environment_json(report.environment);
  if (report.error) out["error"] = error_json(*report.error);
  out["reproduce"] = report.reproduce;
  return document(out);
}

}  // namespace drift
