#include "audit/comparison.hpp"

namespace drift {
namespace {

/// [b, s] or [t].
std::vector<std::int64_t> position(const Roles& roles, std::int64_t row) {
  if (roles.leading.size() == 2) return {row / roles.sequence, row % roles.sequence};
  return {row};
}

}  // namespace

Comparison::Comparison(const Case& run, const Inputs& inputs, const AllRows& rows)
    : run_(run), inputs_(inputs), rows_(rows) {
  for (std::size_t r = 0; r < rows.lse_rows.size(); ++r) {
    lost_ += !rows.lse_rows[r];
    lost_active_ += inputs.active[r] && !rows.lse_rows[r];
  }
  if (run.grid.tp > 1)
    for (const std::int64_t target : inputs.targets)
      owner_.push_back(target < 0 ? -1 : run.bounds.owner(target));
  if (run.grid.cp > 1) cp_chunk_ = cp_chunks(run.roles.batch, run.roles.sequence, run.grid.cp, run.layout);
}

std::span<const std::uint8_t> Comparison::use(Quantity quantity) const {
  return quantity == Quantity::lse ? rows_.lse_rows : rows_.logp_rows;
}

std::vector<Token> Comparison::tokens(const std::vector<WorstRow>& worst, Quantity quantity) const {
  std::vector<Token> out;
  for (const WorstRow& row : worst) {
    Token token;
    token.row = row.row;
    token.position = position(run_.roles, row.row);
    token.candidate = row.candidate;
    token.reference = row.reference;
    const std::int64_t target = inputs_.targets[static_cast<std::size_t>(row.row)];
    if (quantity == Quantity::logp && target >= 0) {
      token.target = target;
      if (run_.has_logits()) token.owner_tp_rank = run_.bounds.owner(target);
    }
    out.push_back(std::move(token));
  }
  return out;
}

Compared Comparison::operator()(std::span<const float> candidate, std::span<const float> reference,
                                Quantity quantity, Detail detail) const {
  const std::span<const std::uint8_t> compared = use(quantity);
  Compared out;
  out.drift = drift_of(candidate, reference, compared);
  out.drift.nonfinite += left_out(quantity);
  out.worst = tokens(worst_rows(candidate, reference, compared, run_.config.worst), quantity);
  if (detail == Detail::strata)
    out.strata = strata_of({.candidate = candidate,
                            .reference = reference,
                            .use = compared,
                            .active = inputs_.active,
                            .sequences = inputs_.sequences,
                            .owner = owner_,
                            .cp_chunk = cp_chunk_});
  return out;
}

}  // namespace drift
