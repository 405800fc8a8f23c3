#include "audit/findings.hpp"

#include <cmath>

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

std::vector<std::int64_t> position(const Case& run, std::int64_t row) {
  if (run.roles.logits.shape.size() == 3) return {row / run.roles.sequence, row % run.roles.sequence};
  return {row};
}

std::vector<Token> tokens(const Case& run, const Inputs& inputs, const std::vector<WorstRow>& worst, bool is_logp) {
  std::vector<Token> out;
  for (const WorstRow& row : worst) {
    Token token;
    token.row = row.row;
    token.position = position(run, row.row);
    token.candidate = row.candidate;
    token.reference = row.reference;
    if (is_logp) {
      token.target = inputs.targets[static_cast<std::size_t>(row.row)];
      token.owner_tp_rank = run.bounds.owner(*token.target);
    }
    out.push_back(std::move(token));
  }
  return out;
}

/// `left_out` rows should have been compared but hold something that is not a number.
Compared compared(const Case& run, const Inputs& inputs, std::span<const float> candidate,
                  std::span<const float> reference, std::span<const std::uint8_t> use, std::int64_t left_out,
                  bool is_logp) {
  Compared out{drift_of(candidate, reference, use),
               tokens(run, inputs, worst_rows(candidate, reference, use, run.config.worst), is_logp)};
  out.drift.nonfinite += left_out;
  return out;
}

std::int64_t left_out_rows(const AllRows& rows) {
  return static_cast<std::int64_t>(std::count(rows.lse_rows.begin(), rows.lse_rows.end(), 0));
}

std::int64_t left_out_active_rows(const AllRows& rows, const Inputs& inputs) {
  std::int64_t out = 0;
  for (std::size_t r = 0; r < rows.lse_rows.size(); ++r) out += inputs.active[r] && !rows.lse_rows[r];
  return out;
}

/// "text" of one formula as it is, several as "id: text; id: text".
std::string joined(const Case& run, std::string_view Reduction::* part) {
  if (run.formulas.size() == 1) return std::string(run.formulas[0]->reduction.*part);
  std::string out;
  for (const Formula* formula : run.formulas)
    out += (out.empty() ? "" : "; ") + std::string(formula->id) + ": " + std::string(formula->reduction.*part);
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

InputReport input_of(const Case& run, const DumpFile& dump, const Inputs& inputs, const AllRows& rows) {
  InputReport out;
  out.files.push_back({.name = dump.path(), .header_digest = hex(dump.header_digest()), .bytes = dump.bytes()});
  out.logits = describe(run.roles.logits, rows.logits_digest);
  out.targets = describe(run.roles.targets, inputs.targets_digest);
  if (run.roles.mask) out.mask = describe(*run.roles.mask, inputs.mask_digest);
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

OracleReport oracle_of(const Inputs& inputs, const AllRows& rows, const std::string& backend) {
  return {.implementation = oracle::name(),
          .backend = backend,
          .certified_rows = rows.certificate.rows,
          .lse_worst = rows.certificate.lse_worst,
          .logp_worst = rows.certificate.logp_worst,
          .digests = {digest_of_lse(rows.oracle), digest_of_logp(rows.oracle, inputs.active)}};
}

std::vector<CandidateReport> candidates_of(const Case& run, const Inputs& inputs, const AllRows& rows,
                                           const Actual& actual) {
  const RowValues& reference = rows.reference();
  const std::int64_t lost = left_out_rows(rows), lost_active = left_out_active_rows(rows, inputs);
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
    candidate.lse = compared(run, inputs, values.lse, reference.lse, rows.lse_rows, lost, false);
    candidate.logp = compared(run, inputs, values.logp, reference.logp, rows.logp_rows, lost_active, true);
    if (run.input_is_rounded) {
      candidate.input_rounding_lse = drift_of(rows.rounded.lse, rows.oracle.lse, rows.lse_rows);
      candidate.input_rounding_logp = drift_of(rows.rounded.logp, rows.oracle.logp, rows.logp_rows);
      candidate.input_rounding_lse->nonfinite += lost;
      candidate.input_rounding_logp->nonfinite += lost_active;
    }
    candidate.replicated = rows.replicated[f];
    candidate.digests = {digest_of_lse(values), digest_of_logp(values, inputs.active)};
    out.push_back(std::move(candidate));
  }
  return out;
}

std::vector<RecordedReport> recorded_of(const Case& run, const Inputs& inputs, const AllRows& rows) {
  const std::int64_t lost = left_out_active_rows(rows, inputs);
  std::vector<RecordedReport> out;
  for (std::size_t i = 0; i < run.roles.recorded.size(); ++i) {
    const TensorInfo& tensor = run.roles.recorded[i];
    RecordedReport recorded{.name = tensor.name,
                            .dtype = std::string(drift::name(tensor.dtype)),
                            .digest = inputs.recorded_digests[i],
                            .vs = {}};
    const std::vector<float>& values = inputs.recorded[i];
    recorded.vs.emplace_back("oracle",
                             compared(run, inputs, values, rows.oracle.logp, rows.logp_rows, lost, true));
    for (std::size_t f = 0; f < run.formulas.size(); ++f)
      recorded.vs.emplace_back(
          run.formulas[f]->id,
          compared(run, inputs, values, rows.candidates[f].logp, rows.logp_rows, lost, true));
    out.push_back(std::move(recorded));
  }
  return out;
}

}  // namespace drift
