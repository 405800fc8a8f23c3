// What the user's own numbers come to: against the oracle, against each formula, and against each other.

#include <bit>
#include <future>
#include <optional>
#include <set>

#include "audit/comparison.hpp"
#include "audit/findings.hpp"
#include "base/error.hpp"
#include "base/splitmix64.hpp"
#include "base/text_grid.hpp"
#include "stats/zeros.hpp"

namespace drift {
namespace {

Quantity quantity_of(RecordedKind kind) { return kind == RecordedKind::lse ? Quantity::lse : Quantity::logp; }
std::string text_of(RecordedKind kind) { return kind == RecordedKind::lse ? "lse" : "logp"; }

std::span<const float> pick(const RowValues& values, Quantity quantity) {
  return quantity == Quantity::lse ? values.lse : values.logp;
}

/// The column of that name: a recorded tensor's, the oracle's or a formula's.
std::span<const float> column(const Case& run, const Inputs& inputs, const AllRows& rows,
                              const std::string& name, Quantity quantity) {
  for (std::size_t i = 0; i < run.roles.recorded.size(); ++i)
    if (run.roles.recorded[i].name == name) return inputs.recorded[i];
  if (name == "oracle") return pick(rows.oracle, quantity);
  for (std::size_t f = 0; f < run.formulas.size(); ++f)
    if (run.formulas[f]->id == name) return pick(rows.candidates[f], quantity);
  throw Error(Fault::internal, "a pair names a column that this run does not have: " + name);
}

/// A digest of the compared values that does not depend on their order.
std::uint64_t sum_of_hashes(std::span<const float> values, std::span<const std::uint8_t> use) {
  std::uint64_t sum = 0;
  for (std::size_t r = 0; r < values.size(); ++r)
    if (use[r]) sum += splitmix64(std::bit_cast<std::uint32_t>(values[r] + 0.0f));
  return sum;
}

std::vector<float> sigmas(const AllRows& rows) {
  std::vector<float> out;
  for (const RowSpread& spread : rows.spread) out.push_back(static_cast<float>(spread.sigma));
  return out;
}

/// "" if none is.
std::string zero_warning(const std::string& name, std::int64_t zeros, const std::string& than) {
  if (zeros == 0) return "";
  return counted(zeros, "value") + " of " + name + (zeros == 1 ? " is" : " are") + " exactly 0 where " +
         than + " is below -0.001: zero-filled?";
}

}  // namespace

std::vector<RecordedReport> recorded_of(const Case& run, const Inputs& inputs, const AllRows& rows) {
  const Comparison compare(run, inputs, rows);
  const std::vector<float> sigma = sigmas(rows);
  std::vector<RecordedReport> out;
  for (std::size_t i = 0; i < run.roles.recorded.size(); ++i) {
    const Recorded& tensor = run.roles.recorded[i];
    const Quantity quantity = quantity_of(tensor.kind);
    RecordedReport recorded{.name = tensor.name,
                            .dtype = std::string(name(tensor.tensor.dtype)),
                            .digest = inputs.recorded_digests[i],
                            .file = tensor.file,
                            .kind = text_of(tensor.kind),
                            .vs = {}};
    const std::vector<float>& values = inputs.recorded[i];
    if (run.has_logits()) {
      Compared oracle = compare(values, pick(rows.oracle, quantity), quantity, Detail::strata);
      if (quantity == Quantity::logp)
        oracle.noise = noise_of(values, rows.oracle.logp, sigma, compare.use(quantity));
      recorded.vs.emplace_back("oracle", std::move(oracle));
    }
    for (std::size_t f = 0; f < run.formulas.size(); ++f)
      recorded.vs.emplace_back(run.formulas[f]->id,
                               compare(values, pick(rows.candidates[f], quantity), quantity));
    out.push_back(std::move(recorded));
  }
  return out;
}

std::vector<PairReport> pairs_of(const Case& run, const Inputs& inputs, const AllRows& rows) {
  const Comparison compare(run, inputs, rows);
  std::vector<PairReport> out;
  for (const Pair& pair : run.pairs) {
    const Quantity quantity = quantity_of(pair.kind);
    const std::span<const float> a = column(run, inputs, rows, pair.a, quantity);
    const std::span<const float> b = column(run, inputs, rows, pair.b, quantity);
    PairReport report;
    report.name = pair.name();
    report.a = pair.a;
    report.b = pair.b;
    report.kind = text_of(pair.kind);
    const auto use = compare.use(quantity);
    auto metrics =
        std::async(std::launch::async, [&] {  // as long as everything else together, for millions of tokens
          return quantity == Quantity::logp ? std::optional(mismatch_of(a, b, use, inputs.sequences))
                                            : std::nullopt;
        });
    report.compared = compare(a, b, quantity, Detail::strata);
    report.permuted =
        report.compared.drift.mismatch_count > 0 && sum_of_hashes(a, use) == sum_of_hashes(b, use);
    report.metrics = metrics.get();
    for (const FrameworkMetric& metric : framework_metrics())
      if (report.metrics && metric.framework == run.config.metric_names)
        report.framework_metrics.emplace_back(metric.name, metric.value(*report.metrics));
    out.push_back(std::move(report));
  }
  return out;
}

std::vector<std::string> zero_warnings(const Case& run, const Inputs& inputs, const AllRows& rows) {
  std::vector<std::string> out;
  std::set<std::string> warned;
  const auto look = [&](const std::string& name, std::span<const float> values, const std::string& than,
                        std::span<const float> other) {
    if (warned.contains(name)) return;
    const std::string warning = zero_warning(name, zeros_among(values, other, rows.logp_rows), than);
    if (warning.empty()) return;
    warned.insert(name);
    out.push_back(warning);
  };
  if (run.has_logits()) {
    for (std::size_t i = 0; i < run.roles.recorded.size(); ++i)
      if (run.roles.recorded[i].kind == RecordedKind::logp)
        look(run.roles.recorded[i].name, inputs.recorded[i], "the oracle", rows.oracle.logp);
    return out;
  }
  for (const Pair& pair : run.pairs) {
    if (pair.kind != RecordedKind::logp) continue;
    const std::span<const float> a = column(run, inputs, rows, pair.a, Quantity::logp);
    const std::span<const float> b = column(run, inputs, rows, pair.b, Quantity::logp);
    look(pair.a, a, pair.b, b);
    look(pair.b, b, pair.a, a);
  }
  return out;
}

}  // namespace drift
