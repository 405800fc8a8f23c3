#include "audit/oracle_pass.hpp"

#include <algorithm>
#include <cmath>

#include "audit/chunk_feed.hpp"
#include "base/error.hpp"
#include "kernels/read_values.hpp"
#include "oracle/oracle.hpp"

namespace drift {
namespace {

oracle::Dtype oracle_dtype(Dtype dtype) {
  switch (dtype) {
    case Dtype::BF16: return oracle::Dtype::bf16;
    case Dtype::F16: return oracle::Dtype::f16;
    case Dtype::F64: return oracle::Dtype::f64;
    default: return oracle::Dtype::f32;
  }
}

/// The distinct ways in which a stored logit becomes a value in this run: the oracle's on stored bits, the
/// oracle's on rounded ones, the candidates'.
std::vector<ValueRule> rules_of(const Case& run) {
  const ValueRule stored = oracle_rule(run);
  ValueRule rounded = stored;
  rounded.candidate = run.candidate.candidate;
  std::vector<ValueRule> rules{stored};
  for (const ValueRule& rule : {rounded, run.candidate})
    if (std::find(rules.begin(), rules.end(), rule) == rules.end()) rules.push_back(rule);
  return rules;
}

/// The first view with something wrong names it; masks and roundings are counted on the stored view.
void add_census(std::vector<RowCensus>& all, const std::vector<RowCensus>& chunk, std::int64_t first,
                bool is_stored) {
  for (std::size_t r = 0; r < chunk.size(); ++r) {
    RowCensus& row = all[static_cast<std::size_t>(first) + r];
    if (is_stored)
      row = chunk[r];
    else if (row.kind == BadValue::none && chunk[r].kind != BadValue::none) {
      row.kind = chunk[r].kind;
      row.first_bad = chunk[r].first_bad;
      row.nonfinite = chunk[r].nonfinite;
    }
  }
}

class OracleRun {
 public:
  OracleRun(const Case& run, const Inputs& inputs, Backend& on, std::int64_t most)
      : run_(run),
        inputs_(inputs),
        on_(on),
        targets_(on.allocate(most * 8)),
        lse_(on.allocate(most * 4)),
        logp_(on.allocate(most * 4)),
        census_(on.allocate(most * static_cast<std::int64_t>(sizeof(RowCensus)))),
        moments_(on.allocate(wants_spread(run) ? most * static_cast<std::int64_t>(sizeof(RowMoments)) : 0)) {}

  void set_targets(const std::vector<std::int64_t>& targets) {
    on_.upload(targets.data(), targets_.data(), static_cast<std::int64_t>(targets.size()) * 8);
  }

  oracle::Rows rows(const void* logits, const std::int64_t* targets, const ChunkFeed::Chunk& chunk,
                    Dtype rounded) const {
    return {.logits = logits,
            .stored = oracle_dtype(run_.candidate.stored),
            .rounded = oracle_dtype(rounded),
            .temperature = rule_of(chunk, run_.candidate).temperature,
            .targets = targets,
            .rows = chunk.count,
            .pitch = chunk.pitch,
            .vocab = run_.vocab};
  }

  void compute(const ChunkFeed::Chunk& chunk, Dtype rounded, RowValues& out) {
    const oracle::Rows problem = rows(chunk.logits, targets_.as<std::int64_t>(), chunk, rounded);
    if (on_.host_memory()) {
      oracle::log_prob_cpu(problem, lse_.as<float>(), logp_.as<float>());
    } else {
      const int failed =
          oracle::log_prob_cuda(problem, lse_.as<float>(), logp_.as<float>(), on_.native_stream());
      require(failed == 0, Fault::device,
              "the oracle's kernel could not be launched: cudaError " + std::to_string(failed));
    }
    on_.download(lse_.data(), out.lse.data() + chunk.first, chunk.count * 4);
    on_.download(logp_.data(), out.logp.data() + chunk.first, chunk.count * 4);
  }

  /// Spread of every row of the chunk; `targets` as set.
  void spread(const ChunkFeed::Chunk& chunk, const std::vector<std::int64_t>& targets,
              std::vector<RowSpread>& out) {
    const ValueRule rule = rule_of(chunk, oracle_rule(run_));
    const LogitsView view{.data = chunk.logits,
                          .rows = chunk.count,
                          .pitch = chunk.pitch,
                          .columns = {0, run_.padded_vocab},
                          .vocab = run_.vocab,
                          .rule = rule};
    std::vector<RowMoments> moments(static_cast<std::size_t>(chunk.count));
    on_.row_moments(view, moments_.as<RowMoments>());
    on_.download(moments_.data(), moments.data(),
                 chunk.count * static_cast<std::int64_t>(sizeof(RowMoments)));
    for (std::int64_t r = 0; r < chunk.count; ++r) {
      const std::int64_t target = targets[static_cast<std::size_t>(r)];
      float value = std::numeric_limits<float>::quiet_NaN(), ulp = value;
      if (target >= 0) {
        const std::byte* at = chunk.host + (r * chunk.pitch + target) * view.bytes_per_element();
        float widened = 0;
        cpu::widen_values(rule.stored, at, 1, &widened);
        value = value_of(widened, rule);
        ulp = ulp_of(rule.stored, widened) / rule.temperature;
      }
      out[static_cast<std::size_t>(chunk.first + r)] =
          spread_of(moments[static_cast<std::size_t>(r)], value, ulp);
    }
  }

  std::vector<RowCensus> census(const ChunkFeed::Chunk& chunk, const ValueRule& rule) {
    const LogitsView view{.data = chunk.logits,
                          .rows = chunk.count,
                          .pitch = chunk.pitch,
                          .columns = {0, run_.padded_vocab},
                          .vocab = run_.vocab,
                          .rule = rule_of(chunk, rule)};
    std::vector<RowCensus> out(static_cast<std::size_t>(chunk.count));
    on_.row_census(view, targets_.as<std::int64_t>(), census_.as<RowCensus>());
    on_.download(census_.data(), out.data(), chunk.count * static_cast<std::int64_t>(sizeof(RowCensus)));
    return out;
  }

 private:
  ValueRule rule_of(const ChunkFeed::Chunk& chunk, const ValueRule& rule) const {
    return rule_of_row(inputs_, rule, chunk.rows.front().begin);
  }

  const Case& run_;
  const Inputs& inputs_;
  Backend& on_;
  Buffer targets_, lse_, logp_, census_, moments_;
};

/// How far the oracle is from the referee, as a fraction of its bound. Where the referee has no number the
/// oracle must have none either.
double fraction(float value, double truth) {
  if (std::isnan(truth)) return std::isnan(value) ? 0 : INFINITY;
  return oracle::fraction_of_bound(value, truth);
}

void certify(const oracle::Rows& problem, const std::vector<bool>& checked, const RowValues& values,
             std::int64_t first, bool is_counted, Certificate& certificate) {
  for (std::int64_t r = 0; r < problem.rows; ++r) {
    if (!checked[static_cast<std::size_t>(r)]) continue;
    double lse = 0, logp = 0;
    oracle::referee(problem, r, &lse, &logp);
    const auto at = static_cast<std::size_t>(first + r);
    certificate.lse_worst = std::max(certificate.lse_worst, fraction(values.lse[at], lse));
    certificate.logp_worst = std::max(certificate.logp_worst, fraction(values.logp[at], logp));
    certificate.rows += is_counted && std::isfinite(lse);  // a row without a number proves nothing
  }
}

}  // namespace

std::vector<Range> oracle_rows(const Case& run, int cp_rank, int tp_rank) {
  const std::vector<Range> rows = run.rows_of(cp_rank);
  return slice(rows, even_part(count(rows), run.grid.tp, tp_rank));
}

ValueRule oracle_rule(const Case& run) {
  ValueRule stored = run.candidate;
  stored.order = TemperatureOrder::f32;
  stored.candidate = stored.stored == Dtype::F64 ? Dtype::F32 : stored.stored;
  return stored;
}

bool wants_spread(const Case& run) { return run.config.row_stats || !run.roles.recorded.empty(); }

OraclePass run_oracle(const Case& run, const DumpFile& dump, const Inputs& inputs, const KeptRows& kept,
                      int cp_rank, int tp_rank, Backend& on, const Progress& progress) {
  OraclePass out;
  out.rows = oracle_rows(run, cp_rank, tp_rank);
  const std::int64_t total = count(out.rows);
  const auto size = static_cast<std::size_t>(total);
  out.stored = {std::vector<float>(size), std::vector<float>(size)};
  if (run.input_is_rounded) out.rounded = RowValues{std::vector<float>(size), std::vector<float>(size)};
  out.census.resize(size);
  if (wants_spread(run)) out.spread.resize(size);
  if (total == 0) return out;

  ChunkFeed feed(dump, run.roles, on,
                 {.rows = out.rows,
                  .columns = {0, run.padded_vocab},
                  .rows_per_chunk = run.rows_per_chunk,
                  .row_digests = &out.row_digests,
                  .temperature = inputs.temperature,
                  .kept = &kept});
  OracleRun oracle(run, inputs, on, std::min(run.rows_per_chunk, total));
  const std::vector<ValueRule> rules = rules_of(run);
  const std::int64_t step = run.config.certify == "all" ? 1 : (run.roles.rows + 63) / 64;

  while (const auto chunk = feed.next()) {
    const std::vector<std::int64_t> targets = picked(inputs.targets, chunk->rows);
    oracle.set_targets(targets);
    oracle.compute(*chunk, run.candidate.stored, out.stored);
    if (out.rounded) oracle.compute(*chunk, run.candidate.candidate, *out.rounded);
    for (const ValueRule& rule : rules)
      add_census(out.census, oracle.census(*chunk, rule), chunk->first, &rule == &rules[0]);
    if (wants_spread(run)) oracle.spread(*chunk, targets, out.spread);

    if (run.config.certify != "off") {
      std::vector<bool> checked;
      for (const std::int64_t row : row_numbers(chunk->rows)) checked.push_back(row % step == 0);
      certify(oracle.rows(chunk->host, targets.data(), *chunk, run.candidate.stored), checked, out.stored,
              chunk->first, true, out.certificate);
      if (out.rounded)
        certify(oracle.rows(chunk->host, targets.data(), *chunk, run.candidate.candidate), checked,
                *out.rounded, chunk->first, false, out.certificate);
    }
    progress(chunk->first + chunk->count, total);
  }
  out.bytes_read = feed.bytes_read();
  return out;
}

}  // namespace drift
