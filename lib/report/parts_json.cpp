#include "report/parts_json.hpp"

#include <cmath>

#include "base/ulp.hpp"
#include "report/to_json.hpp"

namespace drift {

Json schema_json(const char* name) { return {{"name", name}, {"version", schema_version}}; }

Json range_json(Range range) { return Json::array({range.begin, range.end}); }

Json ranges_json(const std::vector<Range>& ranges) {
  Json out = Json::array();
  for (const Range& range : ranges) out.push_back(range_json(range));
  return out;
}

Json stats_json(const Drift& drift) {
  Json histogram = Json::object();
  for (const auto& [edge, rows] : drift.ulp_histogram) histogram[std::to_string(edge)] = rows;
  return {{"count", drift.count},
          {"nonfinite", drift.nonfinite},
          {"mismatch_count", drift.mismatch_count},
          {"bit_mismatch_count", drift.bit_mismatch_count},
          {"max_abs", number(drift.max_abs)},
          {"mean_abs", number(drift.mean_abs)},
          {"mean", number(drift.mean)},
          {"rms", number(drift.rms)},
          {"p50", number(drift.p50)},
          {"p95", number(drift.p95)},
          {"p99", number(drift.p99)},
          {"p999", number(drift.p999)},
          {"max_rel", number(drift.max_rel)},
          {"max_ulp", drift.max_ulp},
          {"ulp_histogram", histogram}};
}

Json token_json(const Token& token) {
  const auto candidate = static_cast<double>(token.candidate),
             reference = static_cast<double>(token.reference);
  Json out{{"row", token.row}, {"position", token.position}};
  if (token.target) out["target"] = *token.target;
  if (token.owner_tp_rank) out["owner_tp_rank"] = *token.owner_tp_rank;
  out["candidate"] = number(candidate);
  out["reference"] = number(reference);
  out["abs"] = number(std::fabs(candidate - reference));
  out["ulp"] = ulp_distance(token.candidate, token.reference);
  out["candidate_bits"] = bits_text(token.candidate);
  out["reference_bits"] = bits_text(token.reference);
  return out;
}

Json tokens_json(const std::vector<Token>& tokens) {
  Json out = Json::array();
  for (const Token& token : tokens) out.push_back(token_json(token));
  return out;
}

Json digests_json(const LseLogp& digests) { return {{"lse", digests.lse}, {"logp", digests.logp}}; }

Json error_json(const ErrorReport& error) {
  return {{"code", error.code},
          {"class", error.fault},
          {"rank", error.rank},
          {"phase", error.phase},
          {"message", error.message}};
}

}  // namespace drift
