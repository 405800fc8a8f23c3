#include "audit/verdict.hpp"

#include <cmath>

#include "base/ulp.hpp"

namespace drift {
namespace {

/// |oracle - exact| of the oracle (oracle/oracle.hpp), in nats.
double oracle_bound(double value) { return 0.6 * ulp32(value) + 0x1p-22; }

double ws1_atol(Dtype dtype) {
  switch (dtype) {
    case Dtype::BF16: return 6e-2;
    case Dtype::F16: return 5e-3;
    default: return 1e-5;
  }
}

/// The tolerance of one quantity of one formula.
struct Limit {
  const Case& run;
  const Formula& formula;
  bool is_logp;

  double operator()(double candidate, double reference, double lse) const {
    const Config& config = run.config;
    if (config.atol >= 0 || config.rtol >= 0)
      return std::max(config.atol, 0.0) + std::max(config.rtol, 0.0) * std::fabs(reference);
    if (config.tolerance == "rl-kernel-ws1") return ws1_atol(run.candidate.candidate);
    const double larger = std::max(std::fabs(candidate), std::fabs(reference));
    BoundInput in{.lse = is_logp ? lse : larger,
                  .logp = is_logp ? larger : 0,
                  .vocab = run.vocab,
                  .widest_shard = run.bounds.widest(),
                  .tp = run.grid.tp};
    return oracle_bound(larger) + (is_logp ? formula.logp_bound(in) : formula.lse_bound(in));
  }

  std::string from() const {
    if (run.config.atol >= 0 || run.config.rtol >= 0) return "option";
    return run.config.tolerance == "derived" ? "derived" : "profile:" + run.config.tolerance;
  }
};

GateReport gate(const Limit& limit, std::span<const float> candidate, std::span<const float> reference,
                std::span<const float> lse, std::span<const std::uint8_t> use) {
  GateReport out;
  out.name = "candidates." + std::string(limit.formula.id) + (limit.is_logp ? ".logp" : ".lse");
  out.from = limit.from();
  double closest = -1;
  for (std::size_t r = 0; r < use.size(); ++r) {
    if (!use[r]) continue;
    const double d = std::fabs(static_cast<double>(candidate[r]) - static_cast<double>(reference[r]));
    const double allowed = limit(candidate[r], reference[r], lse[r]);
    const bool over = !(d <= allowed);  // a NaN is over
    out.rows_over += over;
    const double share = std::isnan(d) ? INFINITY : allowed > 0 ? d / allowed : d > 0 ? INFINITY : 0;
    if (share > closest) {
      closest = share;
      out.value = d;
      out.limit = allowed;
    }
  }
  out.passed = out.rows_over == 0;
  return out;
}

}  // namespace

std::vector<GateReport> candidate_gates(const Case& run, const AllRows& rows) {
  std::vector<GateReport> out;
  const RowValues& reference = rows.reference();
  for (std::size_t f = 0; f < run.formulas.size(); ++f) {
    const RowValues& values = rows.candidates[f];
    const Formula& formula = *run.formulas[f];
    out.push_back(gate({run, formula, false}, values.lse, reference.lse, reference.lse, rows.lse_rows));
    out.push_back(gate({run, formula, true}, values.logp, reference.logp, reference.lse, rows.logp_rows));
  }
  return out;
}

}  // namespace drift
