// rank-NNNN.json and run.json.

#include "report/parts_json.hpp"
#include "report/to_json.hpp"

namespace drift {

std::string to_json(const RankReport& report) {
  Json candidates = Json::array();
  for (const RankReport::Candidate& candidate : report.candidates)
    candidates.push_back({{"formula", candidate.formula},
                          {"digests", digests_json(candidate.digests)},
                          {"replicated", candidate.replicated}});
  Json out{{"schema", schema_json("drift-audit/rank")},
           {"status", report.status},
           {"exit_code", report.exit_code},
           {"case_id", report.case_id},
           {"rank", report.rank},
           {"tp_rank", report.tp_rank},
           {"cp_rank", report.cp_rank},
           {"rows", ranges_json(report.rows)},
           {"columns", range_json(report.columns)},
           {"backend", report.backend},
           {"transport", report.transport},
           {"device_model", report.device_model},
           {"oracle_rows", report.oracle_rows},
           {"nonfinite", report.nonfinite},
           {"candidates", candidates}};
  if (report.error) out["error"] = error_json(*report.error);
  return document(out);
}

std::string to_json(const RunInfo& info) {
  Json seconds = Json::object();
  for (const auto& [phase, value] : info.seconds) seconds[phase] = number(value);
  return document(
      {{"schema", schema_json("drift-audit/run")},
       {"started", info.started},
       {"seconds", seconds},
       {"hosts", info.hosts},
       {"pids", info.pids},
       {"device_uuids", info.device_uuids},
       {"paths",
        {{"working_directory", info.working_directory}, {"dump", info.dump_path}, {"out", info.out_path}}},
       {"argv", info.argv},
       {"bytes_read", std::to_string(info.bytes_read)},
       {"gigabytes_per_second", number(info.gigabytes_per_second)}});
}

}  // namespace drift
