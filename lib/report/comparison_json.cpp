#include "report/comparison_json.hpp"

#include "report/parts_json.hpp"

namespace drift {
namespace {

Json strata_json(const std::vector<Strata>& tables) {
  Json out = Json::object();
  for (const Strata& table : tables) {
    Json bins = Json::array();
    for (const Stratum& bin : table.strata)
      bins.push_back({{"name", bin.name},
                      {"count", bin.count},
                      {"mismatch_count", bin.mismatch_count},
                      {"mean", number(bin.mean)},
                      {"mean_abs", number(bin.mean_abs)},
                      {"rms", number(bin.rms)},
                      {"max_abs", number(bin.max_abs)}});
    out[table.by] = std::move(bins);
  }
  return out;
}

void add_compared(Json& to, const Compared& compared) {
  to["drift"] = stats_json(compared.drift);
  to["worst"] = tokens_json(compared.worst);
  if (compared.noise) to["noise"] = noise_json(*compared.noise);
  if (!compared.strata.empty()) to["strata"] = strata_json(compared.strata);
}

}  // namespace

Json noise_json(const Noise& noise) {
  return {{"count", noise.count},           {"sigma_median", number(noise.sigma_median)},
          {"median", number(noise.median)}, {"p99", number(noise.p99)},
          {"max", number(noise.max)},       {"share_over_6", number(noise.share_over_6)}};
}

Json recorded_json(const RecordedReport& recorded) {
  Json out = Json::object();
  out["name"] = recorded.name;
  if (!recorded.file.empty()) out["file"] = recorded.file;
  out["kind"] = recorded.kind;
  out["dtype"] = recorded.dtype;
  out["digest"] = recorded.digest;
  Json vs = Json::object();
  for (const auto& [against, compared] : recorded.vs) {
    Json one = Json::object();
    add_compared(one, compared);
    vs[against] = std::move(one);
  }
  out["vs"] = std::move(vs);
  return out;
}

Json pair_json(const PairReport& pair) {
  Json out{
      {"name", pair.name}, {"a", pair.a}, {"b", pair.b}, {"kind", pair.kind}, {"permuted", pair.permuted}};
  add_compared(out, pair.compared);
  if (pair.metrics) {
    Json metrics = Json::object();
    for (const Metric& metric : mismatch_metrics())
      metrics[std::string(metric.key)] = number((*pair.metrics).*metric.value);
    out["metrics"] = std::move(metrics);
  }
  if (!pair.framework_metrics.empty()) {
    Json named = Json::object();
    for (const auto& [name, value] : pair.framework_metrics) named[name] = number(value);
    out["framework_metrics"] = std::move(named);
  }
  return out;
}

}  // namespace drift
