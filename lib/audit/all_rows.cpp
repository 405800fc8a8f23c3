#include "audit/all_rows.hpp"

#include <bit>

#include "audit/parcel.hpp"
#include "base/digest.hpp"

namespace drift {
namespace {

const float left_out = std::bit_cast<float>(0x7fc00000u);

/// values[i] goes to the i-th row of `rows`.
template <class T>
void scatter(const std::vector<T>& values, const std::vector<Range>& rows, std::vector<T>& out) {
  require(static_cast<std::int64_t>(values.size()) == count(rows), Fault::comm,
          "a rank sent results of " + std::to_string(values.size()) + " rows, wanted " +
              std::to_string(count(rows)));
  auto from = values.begin();
  for (const Range& range : rows) {
    std::copy(from, from + range.size(), out.begin() + range.begin);
    from += range.size();
  }
}

RowValues blank(std::int64_t rows) {
  return {std::vector<float>(static_cast<std::size_t>(rows), left_out),
          std::vector<float>(static_cast<std::size_t>(rows), left_out)};
}

void put(ParcelWriter& parcel, const RowValues& values) {
  parcel.put(values.lse);
  parcel.put(values.logp);
}

void take(ParcelReader& parcel, const std::vector<Range>& rows, RowValues& out) {
  scatter(parcel.take<float>(), rows, out.lse);
  scatter(parcel.take<float>(), rows, out.logp);
}

ParcelWriter pack(const Case& run, const CandidatePass& candidates, const OraclePass& oracle, int tp_rank) {
  ParcelWriter parcel;
  put(parcel, oracle.stored);
  if (run.input_is_rounded) put(parcel, *oracle.rounded);
  parcel.put(oracle.census);
  parcel.put(oracle.row_digests);
  if (wants_spread(run)) parcel.put(oracle.spread);
  parcel.put_value(oracle.certificate);
  parcel.put_value(oracle.bytes_read + candidates.bytes_read);
  parcel.put(candidates.replicated);
  if (tp_rank == 0)  // the others hold the same values: `replicated` has checked
    for (const RowValues& values : candidates.values) put(parcel, values);
  return parcel;
}

}  // namespace

AllRows gather_rows(const Case& run, const Inputs& inputs, Control& world, const CandidatePass& candidates,
                    const OraclePass& oracle) {
  if (!run.has_logits()) {
    AllRows only_pairs;
    only_pairs.logp_rows = inputs.active;
    only_pairs.lse_rows.assign(inputs.active.size(), 1);
    return only_pairs;
  }
  const Grid grid = run.grid;
  const ParcelWriter mine = pack(run, candidates, oracle, grid.tp_rank(world.rank()));
  const auto parcels = world.gather(mine.bytes());
  AllRows all;
  if (world.rank() != 0) return all;

  const std::int64_t rows = run.roles.rows;
  const auto size = static_cast<std::size_t>(rows);
  all.oracle = blank(rows);
  if (run.input_is_rounded) all.rounded = blank(rows);
  all.candidates.assign(run.formulas.size(), blank(rows));
  all.replicated.assign(run.formulas.size(), true);
  all.census.resize(size);
  if (wants_spread(run)) all.spread.resize(size);
  std::vector<Digest> row_digests(size);
  for (int rank = 0; rank < grid.world(); ++rank) {
    ParcelReader parcel(parcels[static_cast<std::size_t>(rank)]);
    const int cp_rank = grid.cp_rank(rank), tp_rank = grid.tp_rank(rank);
    const std::vector<Range> whole_rows = oracle_rows(run, cp_rank, tp_rank);
    take(parcel, whole_rows, all.oracle);
    if (run.input_is_rounded) take(parcel, whole_rows, all.rounded);
    scatter(parcel.take<RowCensus>(), whole_rows, all.census);
    scatter(parcel.take<Digest>(), whole_rows, row_digests);
    if (wants_spread(run)) scatter(parcel.take<RowSpread>(), whole_rows, all.spread);
    const auto certificate = parcel.take_value<Certificate>();
    all.certificate.rows += certificate.rows;
    all.certificate.lse_worst = std::max(all.certificate.lse_worst, certificate.lse_worst);
    all.certificate.logp_worst = std::max(all.certificate.logp_worst, certificate.logp_worst);
    all.bytes_read += parcel.take_value<std::int64_t>();
    const auto same = parcel.take<std::uint8_t>();
    for (std::size_t f = 0; f < all.replicated.size(); ++f) all.replicated[f] = all.replicated[f] && same[f];
    if (tp_rank == 0)
      for (RowValues& values : all.candidates) take(parcel, run.rows_of(cp_rank), values);
  }
  all.logits_digest = hex(digest(std::as_bytes(std::span(row_digests))));

  all.lse_rows.resize(size);
  all.logp_rows.resize(size);
  for (std::size_t r = 0; r < size; ++r) {
    all.lse_rows[r] = all.census[r].kind == BadValue::none;
    all.logp_rows[r] = all.lse_rows[r] && inputs.active[r];
  }
  clear_left_out(all.oracle, all.lse_rows, all.logp_rows);
  if (run.input_is_rounded) clear_left_out(all.rounded, all.lse_rows, all.logp_rows);
  for (RowValues& values : all.candidates) clear_left_out(values, all.lse_rows, all.logp_rows);
  return all;
}

std::vector<std::vector<float>> gather_columns(const Case& run, Control& world,
                                               const std::vector<std::vector<float>>& columns) {
  ParcelWriter mine;
  if (run.grid.tp_rank(world.rank()) == 0)
    for (const std::vector<float>& column : columns) mine.put(column);
  const auto parcels = world.gather(mine.bytes());
  if (world.rank() != 0) return {};
  std::vector<std::vector<float>> out(columns.size(),
                                      std::vector<float>(static_cast<std::size_t>(run.roles.rows), left_out));
  for (int cp_rank = 0; cp_rank < run.grid.cp; ++cp_rank) {
    ParcelReader parcel(parcels[static_cast<std::size_t>(run.grid.rank(0, cp_rank))]);
    for (std::vector<float>& column : out) scatter(parcel.take<float>(), run.rows_of(cp_rank), column);
  }
  return out;
}

void clear_left_out(RowValues& values, const std::vector<std::uint8_t>& lse_rows,
                    const std::vector<std::uint8_t>& logp_rows) {
  for (std::size_t r = 0; r < values.lse.size(); ++r) {
    if (!lse_rows[r]) values.lse[r] = left_out;
    if (!logp_rows[r]) values.logp[r] = left_out;
  }
}

std::string digest_of_lse(const RowValues& values) {
  return hex(digest(std::as_bytes(std::span(values.lse))));
}

std::string digest_of_logp(const RowValues& values, const std::vector<std::uint8_t>& active) {
  std::vector<float> kept;
  for (std::size_t r = 0; r < active.size(); ++r)
    if (active[r]) kept.push_back(values.logp[r]);
  return hex(digest(std::as_bytes(std::span(kept))));
}

}  // namespace drift
