#include "report/input_json.hpp"

namespace drift {
namespace {

Json tensor_json(const TensorReport& tensor) {
  return {{"name", tensor.name}, {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"digest", tensor.digest}};
}

}  // namespace

Json sources_json(const std::vector<std::pair<std::string, std::string>>& sources) {
  Json out = Json::object();
  for (const auto& [option, source] : sources) out[option] = source;
  return out;
}

Json topology_json(const AggregateReport::Topology& topology) {
  return {
      {"world", topology.world}, {"tp", topology.tp}, {"cp", topology.cp}, {"cp_layout", topology.cp_layout}};
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
  Json out = Json::object();
  out["files"] = files;
  if (input.logits) {
    out["logits"] = tensor_json(*input.logits);
    out["logits"]["rounded_values"] = input.rounded_values;
  }
  if (input.targets) out["targets"] = tensor_json(*input.targets);
  if (input.mask) out["mask"] = tensor_json(*input.mask);
  if (input.temperature) out["temperature"] = tensor_json(*input.temperature);
  if (input.kept)
    out["kept"] = {{"from", input.kept->from},
                   {"fewest", input.kept->fewest},
                   {"most", input.kept->most},
                   {"boundary_rows", input.kept->boundary_rows}};
  if (input.logits) out["vocabulary"] = {{"real", input.real_vocab}, {"padded", input.padded_vocab}};
  out["rows"] = input.rows;
  out["active_rows"] = input.active_rows;
  out["masked_values"] = input.masked_values;
  out["nonfinite"] = {{"active_rows", nonfinite},
                      {"active_row_count", input.nonfinite_active},
                      {"inactive_row_count", input.nonfinite_inactive}};
  return out;
}

}  // namespace drift
