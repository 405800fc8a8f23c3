#include "audit/findings.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "audit/comparison.hpp"
#include "audit/options.hpp"
#include "base/digest.hpp"
#include "oracle/oracle.hpp"

namespace drift {
namespace {

constexpr std::size_t listed_nonfinite = 16;

std::string_view name(BadValue kind) {
  switch (kind) {
    case BadValue::nan: return "nan";
    case BadValue::pos_inf: return "inf";
    case BadValue::all_neg_inf: return "all_neg_inf";
    case BadValue::target_neg_inf: return "target_neg_inf";
    case BadValue::none: break;
  }
  return "none";
}

/// "text" of one formula as it is, several as "id: text; id: text".
std::string joined(const Case& run, std::string_view Reduction::*part) {
  if (run.formulas.size() == 1) return std::string(run.formulas[0]->reduction.*part);
  std::string out;
  for (const Formula* formula : run.formulas)
    out +=
        (out.empty() ? "" : "; ") + std::string(formula->id) + ": " + std::string(formula->reduction.*part);
  return out;
}

RowStatReport summary(const Inputs& inputs, const AllRows& rows, double RowSpread::*value) {
  RowStatReport out{.least = INFINITY, .greatest = -INFINITY};
  std::int64_t count = 0;
  for (std::size_t r = 0; r < rows.spread.size(); ++r) {
    const double x = rows.spread[r].*value;
    if (!inputs.active[r] || !rows.lse_rows[r] || !std::isfinite(x)) continue;
    ++count;
    out.mean += x;
    out.least = std::min(out.least, x);
    out.greatest = std::max(out.greatest, x);
  }
  if (count == 0) return {NAN, NAN, NAN};
  out.mean /= static_cast<double>(count);
  return out;
}

TensorReport describe(const TensorInfo& tensor, std::string digest) {
  return {.name = tensor.name,
          .dtype = std::string(drift::name(tensor.dtype)),
          .digest = std::move(digest),
          .shape = tensor.shape};
}

}  // namespace

ContractReport contract_of(const Case& run, const Inputs& inputs, const std::string& fingerprint,
                           const std::string& transport, const AllRows& rows) {
  ContractReport out;
  out.fingerprint = fingerprint;
  out.vocab_bounds = run.bounds.bounds;
  out.real_vocab = run.real_vocab;
  out.padded_vocab = run.padded_vocab;
  out.ignore_index = run.config.ignore_index;
  out.active_rows = inputs.active_rows;
  out.mask_digest = hex(digest(std::as_bytes(std::span(inputs.active))));
  out.transport = transport;
  out.merge = joined(run, &Reduction::merge);
  out.acc_dtype = joined(run, &Reduction::acc_dtype);
  out.order = joined(run, &Reduction::order);
  out.downcast_at = joined(run, &Reduction::downcast_at);
  out.required = run.config.require;
  for (const std::string_view claim : {"tp", "bounds", "padded-width", "rows", "chunking", "backend"})
    if (std::all_of(run.formulas.begin(), run.formulas.end(), [&](const Formula* formula) {
          const auto names = names_of(formula->claims);
          return std::find(names.begin(), names.end(), claim) != names.end();
        }))
      out.claimed.emplace_back(claim);
  if (std::all_of(rows.replicated.begin(), rows.replicated.end(), [](bool same) { return same; }))
    out.measured.emplace_back("replicated");
  return out;
}

InputReport input_of(const Case& run, const DumpFile& dump, const Inputs& inputs, const KeptRows& kept,
                     const AllRows& rows) {
  InputReport out;
  std::set<std::string> seen;
  const auto add_file = [&](const DumpFile& file) {
    if (seen.insert(file.path()).second)
      out.files.push_back(
          {.name = file.path(), .header_digest = hex(file.header_digest()), .bytes = file.bytes()});
  };
  add_file(dump);
  for (const Recorded& recorded : run.roles.recorded) add_file(recorded.in(dump));
  if (run.has_logits()) out.logits = describe(run.roles.logits, rows.logits_digest);
  if (!run.roles.targets.name.empty()) out.targets = describe(run.roles.targets, inputs.targets_digest);
  if (run.roles.temperature) out.temperature = describe(*run.roles.temperature, inputs.temperature_digest);
  if (!kept.keeps_all())
    out.kept = KeptReport{.from = what_keeps(run),
                          .fewest = kept.counts.fewest,
                          .most = kept.counts.most,
                          .boundary_rows = kept.counts.boundary_rows};
  if (inputs.mask) out.mask = describe(*inputs.mask, inputs.mask_digest);
  out.real_vocab = run.real_vocab;
  out.padded_vocab = run.padded_vocab;
  out.rows = run.roles.rows;
  out.active_rows = inputs.active_rows;
  for (std::size_t r = 0; r < rows.census.size(); ++r) {
    const RowCensus& row = rows.census[r];
    out.masked_values += row.masked;
    out.rounded_values += row.rounded;
    if (row.kind == BadValue::none) continue;
    if (!inputs.active[r]) {
      ++out.nonfinite_inactive;
      continue;
    }
    ++out.nonfinite_active;
    if (out.nonfinite.size() < listed_nonfinite)
      out.nonfinite.push_back({.row = static_cast<std::int64_t>(r),
                               .column = row.first_bad,
                               .owner_tp_rank = run.bounds.owner(row.first_bad),
                               .kind = std::string(name(row.kind))});
  }
  return out;
}

OracleReport oracle_of(const Case& run, const Inputs& inputs, const AllRows& rows,
                       const std::string& backend) {
  OracleReport out{.implementation = oracle::name(),
                   .backend = backend,
                   .certified_rows = rows.certificate.rows,
                   .lse_worst = rows.certificate.lse_worst,
                   .logp_worst = rows.certificate.logp_worst,
                   .digests = {digest_of_lse(rows.oracle), digest_of_logp(rows.oracle, inputs.active)}};
  if (run.config.row_stats) {
    out.entropy = summary(inputs, rows, &RowSpread::entropy);
    out.sum_p2 = summary(inputs, rows, &RowSpread::sum_p2);
  }
  return out;
}

std::vector<CandidateReport> candidates_of(const Case& run, const Inputs& inputs, const AllRows& rows,
                                           const Actual& actual) {
  const RowValues& reference = rows.reference();
  const Comparison compare(run, inputs, rows);
  std::vector<CandidateReport> out;
  for (std::size_t f = 0; f < run.formulas.size(); ++f) {
    const RowValues& values = rows.candidates[f];
    CandidateReport candidate;
    candidate.formula = run.formulas[f]->id;
    candidate.backend_requested = run.config.backend;
    candidate.backend_actual = actual.backend;
    candidate.transport_requested = run.config.transport;
    candidate.transport_actual = actual.transport;
    candidate.claims = names_of(run.formulas[f]->claims);
    candidate.lse = compare(values.lse, reference.lse, Quantity::lse);
    candidate.logp = compare(values.logp, reference.logp, Quantity::logp);
    if (run.input_is_rounded) {
      candidate.input_rounding_lse = drift_of(rows.rounded.lse, rows.oracle.lse, rows.lse_rows);
      candidate.input_rounding_logp = drift_of(rows.rounded.logp, rows.oracle.logp, rows.logp_rows);
      candidate.input_rounding_lse->nonfinite += compare.left_out(Quantity::lse);
      candidate.input_rounding_logp->nonfinite += compare.left_out(Quantity::logp);
    }
    candidate.replicated = rows.replicated[f];
    candidate.digests = {digest_of_lse(values), digest_of_logp(values, inputs.active)};
    out.push_back(std::move(candidate));
  }
  return out;
}

}  // namespace drift
