#include "audit/survey_pass.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "audit/chunk_feed.hpp"
#include "audit/oracle_pass.hpp"
#include "audit/parcel.hpp"
#include "base/error.hpp"
#include "dump/columns.hpp"
#include "kernels/read_values.hpp"
#include "kernels/row_moments.hpp"

namespace drift {
namespace {

constexpr float nan32 = std::numeric_limits<float>::quiet_NaN();
constexpr std::array shard_degrees{2, 4, 8};

/// What one rank finds in its rows, in their order.
struct Findings {
  struct OfVariant {
    std::vector<double> lse;
    std::vector<float> lse_of_padding;
  };
  std::vector<OfVariant> variants;         ///< from `from` on
  std::vector<std::vector<float>> picked;  ///< a column pick each
  std::vector<std::int64_t> argmax;
  std::vector<std::vector<float>> shards;  ///< the shards of every degree, one after another
};

class Surveyor {
 public:
  Surveyor(const Survey& survey, std::size_t from, const Case& run, const Inputs& inputs, Backend& on,
           std::int64_t most)
      : survey_(survey),
        from_(from),
        run_(run),
        inputs_(inputs),
        on_(on),
        moments_(on.allocate(most * static_cast<std::int64_t>(sizeof(RowMoments)))) {
    found_.variants.resize(survey.variants.size() - from);
    if (from == 0) found_.picked.resize(survey.columns.size());
    if (from == 0) found_.shards.resize(static_cast<std::size_t>(2 + 4 + 8));
  }

  /// The variants that read rows as this feed has them: truncated as audited, or whole.
  void look_at(const ChunkFeed::Chunk& chunk, bool truncated) {
    const float temperature = rule_of_row(inputs_, run_.candidate, chunk.rows.front().begin).temperature;
    for (std::size_t v = from_; v < survey_.variants.size(); ++v) {
      const Variant& way = survey_.variants[v];
      const bool as_audited = is_truncated_as(way, survey_.variants[0]);
      if (as_audited != truncated) continue;
      const ValueRule rule = rule_in_row(way, temperature);
      Findings::OfVariant& out = found_.variants[v - from_];
      if (!as_audited && !way.truncation.is_off()) {
        truncate(chunk, way, rule, out);
      } else {
        const std::vector<RowMoments> moments = moments_of(chunk, rule, {0, run_.vocab}, run_.vocab);
        for (const RowMoments& row : moments) out.lse.push_back(spread_of(row, nan32, 0).lse);
        if (v == 0)
          for (const RowMoments& row : moments) found_.argmax.push_back(row.argmax);
      }
      for (const RowMoments& row :
           moments_of(chunk, rule, {run_.vocab, run_.padded_vocab}, run_.padded_vocab))
        out.lse_of_padding.push_back(static_cast<float>(lse_or_nothing(row)));
    }
    if (from_ != 0 || !truncated) return;
    pick(chunk);
    shards(chunk, rule_in_row(survey_.variants[0], temperature));
  }

  const Findings& found() const { return found_; }

 private:
  static double lse_or_nothing(const RowMoments& row) {
    return row.argmax < 0 ? -std::numeric_limits<double>::infinity() : spread_of(row, nan32, 0).lse;
  }

  std::int64_t element() const { return bytes(run_.candidate.stored); }

  std::vector<RowMoments> moments_of(const ChunkFeed::Chunk& chunk, const ValueRule& rule, Range columns,
                                     std::int64_t vocab) {
    std::vector<RowMoments> out(static_cast<std::size_t>(chunk.count));
    if (columns.empty()) return out;
    const LogitsView view{.data = chunk.logits + columns.begin * element(),
                          .rows = chunk.count,
                          .pitch = chunk.pitch,
                          .columns = columns,
                          .vocab = vocab,
                          .rule = rule};
    on_.row_moments(view, moments_.as<RowMoments>());
    on_.download(moments_.data(), out.data(), chunk.count * static_cast<std::int64_t>(sizeof(RowMoments)));
    return out;
  }

  float stored_value(const ChunkFeed::Chunk& chunk, std::int64_t r, std::int64_t column) const {
    float widened = nan32;
    if (column >= 0)
      cpu::widen_values(run_.candidate.stored, chunk.host + (r * chunk.pitch + column) * element(), 1,
                        &widened);
    return widened;
  }

  void truncate(const ChunkFeed::Chunk& chunk, const Variant& way, const ValueRule& rule,
                Findings::OfVariant& out) const {
    std::vector<float> values(static_cast<std::size_t>(run_.vocab));
    for (std::int64_t r = 0; r < chunk.count; ++r) {
      cpu::read_values(rule, chunk.host + r * chunk.pitch * element(), run_.vocab, values.data());
      out.lse.push_back(kept_lse(values, way.truncation));
    }
  }

  void pick(const ChunkFeed::Chunk& chunk) {
    const std::vector<std::int64_t> rows = row_numbers(chunk.rows);
    const auto argmax = found_.argmax.end() - chunk.count;
    for (std::size_t c = 0; c < survey_.columns.size(); ++c)
      for (std::int64_t r = 0; r < chunk.count; ++r) {
        const std::int64_t column =
            survey_.columns[c].id == "argmax"
                ? argmax[r]
                : survey_.columns[c].column[static_cast<std::size_t>(rows[static_cast<std::size_t>(r)])];
        found_.picked[c].push_back(stored_value(chunk, r, column));
      }
  }

  void shards(const ChunkFeed::Chunk& chunk, const ValueRule& rule) {
    std::size_t at = 0;
    for (const int tp : shard_degrees)
      for (int rank = 0; rank < tp; ++rank, ++at)
        for (const RowMoments& row :
             moments_of(chunk, rule, even_bounds(run_.padded_vocab, tp).columns(rank), run_.vocab))
          found_.shards[at].push_back(static_cast<float>(lse_or_nothing(row)));
  }

  const Survey& survey_;
  std::size_t from_;
  const Case& run_;
  const Inputs& inputs_;
  Backend& on_;
  Buffer moments_;
  Findings found_;
};

ParcelWriter pack(const Findings& found) {
  ParcelWriter parcel;
  for (const Findings::OfVariant& way : found.variants) {
    parcel.put(way.lse);
    parcel.put(way.lse_of_padding);
  }
  for (const std::vector<float>& column : found.picked) parcel.put(column);
  if (!found.picked.empty()) {
    parcel.put(found.argmax);
    for (const std::vector<float>& shard : found.shards) parcel.put(shard);
  }
  return parcel;
}

template <class T>
void take(ParcelReader& parcel, const std::vector<std::int64_t>& rows, std::vector<T>& out, std::size_t all) {
  out.resize(all);
  const std::vector<T> values = parcel.take<T>();
  require(values.size() == rows.size(), Fault::comm, "a rank sent a survey of another number of rows");
  for (std::size_t i = 0; i < rows.size(); ++i) out[static_cast<std::size_t>(rows[i])] = values[i];
}

void unpack(ParcelReader& parcel, const std::vector<std::int64_t>& rows, std::size_t from, Survey& survey) {
  const auto all = static_cast<std::size_t>(survey.rows);
  for (std::size_t v = from; v < survey.variants.size(); ++v) {
    take(parcel, rows, survey.variants[v].lse, all);
    take(parcel, rows, survey.variants[v].lse_of_padding, all);
  }
  if (from != 0) return;
  for (ColumnPick& pick : survey.columns) take(parcel, rows, pick.stored, all);
  take(parcel, rows, survey.argmax, all);
  for (const int tp : shard_degrees) {
    survey.shards[tp].resize(static_cast<std::size_t>(tp));
    for (std::vector<float>& shard : survey.shards[tp]) take(parcel, rows, shard, all);
  }
}

}  // namespace

std::vector<Variant> known_variants(const Case& run, const Inputs& inputs) {
  const ValueRule audited = oracle_rule(run);
  std::vector<Variant> out{{.id = "audited", .rule = audited, .truncation = run.truncation}};
  const auto add = [&](const char* id, ValueRule rule, const Truncation& truncation) {
    out.push_back({.id = id, .rule = rule, .truncation = truncation});
  };
  if (audited.temperature != 1 || !inputs.temperature.empty()) {
    ValueRule rule = audited;
    rule.temperature = 1;
    add("temperature_ignored", rule, run.truncation);
    rule = audited;
    rule.order = TemperatureOrder::native;
    if (audited.candidate != Dtype::F32) add("temperature_native", rule, run.truncation);
    rule.order = TemperatureOrder::reciprocal;
    add("temperature_reciprocal", rule, run.truncation);
    rule = audited;
    rule.temperature = audited.temperature * audited.temperature;
    add("temperature_twice", rule, run.truncation);
  }
  for (const auto& [id, dtype] : {std::pair("logits_bf16", Dtype::BF16), {"logits_f16", Dtype::F16}}) {
    if (audited.candidate != Dtype::F32) continue;
    ValueRule rule = audited;
    rule.candidate = dtype;
    add(id, rule, run.truncation);
  }
  if (!run.truncation.is_off() || run.has_kept_sets) add("truncation_off", audited, {});
  return out;
}

Survey empty_survey(const Case& run, const Inputs& inputs) {
  Survey out;
  out.rows = run.roles.rows;
  out.batch = run.roles.batch;
  out.sequence = run.roles.sequence;
  out.vocab = run.vocab;
  out.padded_vocab = run.padded_vocab;
  out.sequences = inputs.sequences;
  out.active = inputs.active;
  out.temperature = inputs.temperature;
  out.variants = known_variants(run, inputs);
  out.columns = columns_to_pick(inputs.stored_targets, inputs.sequences, run.vocab, run.padded_vocab);
  return out;
}

void survey_rows(Survey& survey, std::size_t from, const Case& run, const DumpFile& dump,
                 const Inputs& inputs, const KeptRows& kept, const Axes& axes, Backend& on,
                 const Progress& progress) {
  const std::vector<Range> rows = oracle_rows(run, axes.cp_rank, axes.tp_rank);
  const std::int64_t total = count(rows);
  Surveyor surveyor(survey, from, run, inputs, on,
                    std::max<std::int64_t>(1, std::min(run.rows_per_chunk, total)));
  const auto pass = [&](bool truncated) {
    ChunkFeed feed(dump, run.roles, on,
                   {.rows = rows,
                    .columns = {0, run.padded_vocab},
                    .rows_per_chunk = run.rows_per_chunk,
                    .temperature = inputs.temperature,
                    .kept = truncated ? &kept : nullptr});
    while (const auto chunk = feed.next()) {
      surveyor.look_at(*chunk, truncated);
      progress(chunk->first + chunk->count, total);
    }
  };
  const bool others =
      std::any_of(survey.variants.begin() + static_cast<std::ptrdiff_t>(from), survey.variants.end(),
                  [&](const Variant& way) { return !is_truncated_as(way, survey.variants[0]); });
  pass(true);
  if (others) pass(false);

  const auto parcels = axes.world.gather(pack(surveyor.found()).bytes());
  for (std::size_t rank = 0; rank < parcels.size(); ++rank) {
    ParcelReader parcel(parcels[rank]);
    const int number = static_cast<int>(rank);
    unpack(parcel, row_numbers(oracle_rows(run, axes.grid.cp_rank(number), axes.grid.tp_rank(number))), from,
           survey);
  }
}

std::vector<SampleRow> read_samples(const Case& run, const DumpFile& dump,
                                    const std::vector<std::int64_t>& rows) {
  std::vector<SampleRow> out;
  std::vector<std::byte> stored(static_cast<std::size_t>(run.vocab * bytes(run.candidate.stored)));
  for (const std::int64_t row : rows) {
    read_logits(dump, run.roles, std::vector<Range>{{row, row + 1}}, {0, run.vocab}, run.vocab, stored);
    SampleRow& sample = out.emplace_back();
    sample.row = row;
    sample.widened.resize(static_cast<std::size_t>(run.vocab));
    cpu::widen_values(run.candidate.stored, stored.data(), run.vocab, sample.widened.data());
  }
  return out;
}

}  // namespace drift
