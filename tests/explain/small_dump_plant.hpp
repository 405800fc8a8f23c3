#pragma once

// Faults, planted as a program would commit them: on whole logits, index lists and buffers.

#include "explain/small_dump.hpp"

namespace drift::test {

inline std::vector<std::int64_t> zigzag_rows(std::int64_t sequence, int cp, int rank) {
  std::vector<std::int64_t> out;
  std::int64_t begin = 0;
  std::vector<std::vector<std::int64_t>> chunks;
  for (int c = 0; c < 2 * cp; ++c) {
    const std::int64_t size = sequence / (2 * cp) + (c < sequence % (2 * cp) ? 1 : 0);
    chunks.emplace_back();
    for (std::int64_t i = 0; i < size; ++i) chunks.back().push_back(begin + i);
    begin += size;
  }
  for (const int c : {rank, 2 * cp - 1 - rank})
    out.insert(out.end(), chunks[at(c)].begin(), chunks[at(c)].end());
  return out;
}

inline std::vector<std::int64_t> contiguous_rows(std::int64_t sequence, int cp, int rank) {
  std::vector<std::int64_t> out;
  for (int r = 0, begin = 0; r < cp; ++r) {
    const auto size = static_cast<int>(sequence / cp + (r < sequence % cp ? 1 : 0));
    for (int i = 0; i < size && r == rank; ++i) out.push_back(begin + i);
    begin += size;
  }
  return out;
}

inline std::vector<std::int64_t> planted_columns(const SmallDump& d, const Plant& p) {
  std::vector<std::int64_t> out = d.targets;
  const std::int64_t n = d.rows(), s = d.sequence;
  for (std::int64_t r = 0; r < n; ++r) {
    const std::int64_t base = r / s * s;
    if (p.has("next_target")) out[at(r)] = d.targets[at(base + (r - base + 1) % s)];
    if (p.has("previous_target")) out[at(r)] = d.targets[at(base + (r - base + s - 1) % s)];
    if (p.has("next_target_across")) out[at(r)] = d.targets[at((r + 1) % n)];
    if (p.has("previous_target_across")) out[at(r)] = d.targets[at((r + n - 1) % n)];
    if (p.has("argmax")) {
      const auto& row = d.logits[at(r)];
      out[at(r)] = std::max_element(row.begin(), row.begin() + d.vocab) - row.begin();
    }
  }
  for (const bool zigzag : {true, false})
    if (const int cp = p.number(zigzag ? "label_roll_zigzag_cp" : "label_roll_contiguous_cp"))
      for (std::int64_t base = 0; base < n; base += s)
        for (int rank = 0; rank < cp; ++rank) {
          const auto own = zigzag ? zigzag_rows(s, cp, rank) : contiguous_rows(s, cp, rank);
          for (std::size_t i = 0; i < own.size(); ++i) {
            const std::int64_t token = own[(i + 1) % own.size()];
            out[at(base + own[i])] =
                token == 0 ? 0 : d.targets[at(base + token - 1)];  // token 0 of the prompt: id 0
          }
        }
  return out;
}

inline std::vector<float> recorded_with(const SmallDump& d, const Plant& p) {
  const std::vector<std::int64_t> columns = planted_columns(d, p);
  std::mt19937_64 random(d.seed * 7919 + 17);
  const int form = static_cast<int>(random() % 3);
  std::vector<double> values(at(d.rows()));
  double clamp = 0;
  for (std::int64_t r = 0; r < d.rows(); ++r) {
    // Logits to values.
    std::vector<double> x;
    for (const float stored : d.logits[at(r)]) {
      float t = d.temperature;
      if (p.has("temperature_ignored") || p.has("logp_over_temperature")) t = 1;
      if (p.has("temperature_fitted")) t = p.wrong_temperature;
      float v = stored / t;
      if (p.has("temperature_native")) v = rounded_to(d.dtype, stored / rounded_to(d.dtype, t));
      if (p.has("temperature_twice")) v = stored / t / t;
      x.push_back(static_cast<double>(v));
    }
    const std::vector<double> all = x;
    x.resize(at(d.vocab));
    std::vector<double> buffer = all;  // what a gather would have made
    const auto shard = [&](int tp, int rank) {
      const Range own = even_part(d.padded, tp, rank);
      return std::vector<double>(all.begin() + own.begin,
                                 all.begin() + std::min(own.end, std::max(d.vocab, own.begin)));
    };
    const auto order = [&](int tp, const auto& which) {
      buffer.clear();
      for (int place = 0; place < tp; ++place) {
        const Range own = even_part(d.padded, tp, which(place));
        buffer.insert(buffer.end(), all.begin() + own.begin, all.begin() + own.end);
      }
    };
    if (const int tp = p.number("shards_reversed_tp")) order(tp, [tp](int i) { return tp - 1 - i; });
    if (const int tp = p.number("shards_rotated_left_tp")) order(tp, [tp](int i) { return (i + 1) % tp; });
    if (const int tp = p.number("shards_rotated_right_tp"))
      order(tp, [tp](int i) { return (i + tp - 1) % tp; });
    const std::int64_t column = columns[at(r)];
    double logit = buffer[at(column)], lse = log_sum(x);
    if (p.has("truncation_fitted")) {
      const double floor = kept_floor(x, p.truncation);
      std::vector<double> kept;
      for (const double v : x)
        if (v >= floor) kept.push_back(v);
      lse = log_sum(kept);
    }
    if (p.has("padding_in_lse")) lse = log_sum(all);
    if (const int tp = p.number("gathered_tp")) lse += std::log(static_cast<double>(tp));
    for (const int tp : {2, 4, 8}) {
      const std::string n = std::to_string(tp);
      const int owner = [&] {
        for (int rank = 0; rank < tp; ++rank)
          if (even_part(d.padded, tp, rank).contains(column)) return rank;
        return -1;
      }();
      const Range own = even_part(d.padded, tp, owner);
      if (p.has("own_shard_only_tp" + n)) lse = log_sum(shard(tp, owner));
      if (p.has("local_index_tp" + n)) logit = all[at(column - own.begin)];
      const bool fence = column == own.begin && column > 0;
      if (p.has("fence_twice_tp" + n) && fence) logit *= 2;
      if (p.has("fence_missing_tp" + n) && fence) logit = 0;
      for (int rank = 0; rank < tp; ++rank) {
        const std::string which = "_tp" + n + "_rank" + std::to_string(rank);
        if (p.has("shard_lost" + which)) {
          std::vector<double> rest;
          for (int other = 0; other < tp; ++other)
            if (other != rank)
              for (const double v : shard(tp, other)) rest.push_back(v);
          lse = log_sum(rest);
        }
        if (p.has("shard_at_offset_0" + which)) {
          std::vector<double> zeros(at(d.vocab), 0.0);
          const auto copy = shard(tp, rank);
          std::copy(copy.begin(), copy.end(), zeros.begin());
          lse = log_sum(zeros);
          logit = zeros[at(column)];
        }
      }
    }
    if (p.has("clamped_tp2")) logit += all[at(column < d.padded / 2 ? d.padded / 2 : d.padded / 2 - 1)];
    if (p.has("target_missing")) logit = 0;
    if (p.has("target_twice")) logit *= 2;
    const double max = *std::max_element(x.begin(), x.end());
    const auto fx = static_cast<float>(logit), fm = static_cast<float>(max);
    const float logp = form == 0   ? static_cast<float>(logit - lse)
                       : form == 1 ? (fx - fm) - static_cast<float>(lse - max)
                                   : fx - static_cast<float>(lse);
    values[at(r)] = static_cast<double>(logp);
    double entropy = 0;
    for (const double v : x) entropy -= std::exp(v - lse) * (v - lse);
    if (p.has("lse")) values[at(r)] = lse;
    if (p.has("entropy")) values[at(r)] = entropy;
    if (p.has("negative_entropy")) values[at(r)] = -entropy;
    if (p.has("logp_over_temperature")) values[at(r)] /= static_cast<double>(d.temperature);
  }
  // Rows.
  std::vector<double> moved = values;
  const std::int64_t n = d.rows(), s = d.sequence;
  for (std::int64_t r = 0; r < n; ++r) {
    const std::int64_t base = r / s * s;
    if (p.has("rows_next")) moved[at(r)] = values[at(base + (r - base + 1) % s)];
    if (p.has("rows_previous")) moved[at(r)] = values[at(base + (r - base + s - 1) % s)];
    if (p.has("rows_next_across")) moved[at(r)] = values[at((r + 1) % n)];
    if (p.has("rows_previous_across")) moved[at(r)] = values[at((r + n - 1) % n)];
  }
  for (const bool zigzag : {true, false})
    if (const int cp = p.number(zigzag ? "zigzag_concatenated_cp" : "contiguous_as_zigzag_cp"))
      for (std::int64_t base = 0; base < n; base += s) {
        std::vector<std::int64_t> from, to;
        for (int rank = 0; rank < cp; ++rank) {
          const auto z = zigzag_rows(s, cp, rank), c = contiguous_rows(s, cp, rank);
          from.insert(from.end(), (zigzag ? z : c).begin(), (zigzag ? z : c).end());
          to.insert(to.end(), (zigzag ? c : z).begin(), (zigzag ? c : z).end());
        }
        for (std::size_t i = 0; i < from.size(); ++i) moved[at(base + to[i])] = values[at(base + from[i])];
      }
  // Output.
  std::vector<double> sorted = moved;
  std::sort(sorted.begin(), sorted.end());
  clamp = sorted[sorted.size() / 5];
  std::vector<float> out;
  for (std::int64_t r = 0; r < n; ++r) {
    double v = moved[at(r)];
    if (p.has("probability")) v = std::exp(v);
    if (p.has("negated")) v = -v;
    if (p.has("base_2")) v /= std::log(2.0);
    if (p.has("zero_filled") && r % 7 == 3) v = 0;
    if (p.has("clamped")) v = std::fmax(v, static_cast<double>(static_cast<float>(clamp)));
    auto f = static_cast<float>(v);
    if (p.has("output_bf16")) f = rounded_to(Dtype::BF16, f);
    if (p.has("output_f16")) f = rounded_to(Dtype::F16, f);
    out.push_back(f);
  }
  return out;
}

inline Variant variant_of(const SmallDump& d, const std::string& id, float t, TemperatureOrder order,
                          const Truncation& truncation = {}) {
  Variant out;
  out.id = id;
  out.rule = {d.dtype, d.dtype, order, t};
  out.truncation = truncation;
  for (const auto& row : d.logits) {
    std::vector<double> x, padding;
    for (std::int64_t c = 0; c < d.padded; ++c)
      (c < d.vocab ? x : padding).push_back(static_cast<double>(value_of(row[at(c)], out.rule)));
    const double floor = kept_floor(x, truncation);
    x.erase(std::remove_if(x.begin(), x.end(), [&](double v) { return v < floor; }), x.end());
    out.lse.push_back(log_sum(x));
    out.lse_of_padding.push_back(static_cast<float>(log_sum(padding)));
  }
  return out;
}

/// With the fitted variants that the sample rows give.
inline Survey survey_of(const SmallDump& d, const std::vector<float>& recorded) {
  Survey s;
  s.rows = d.rows();
  s.batch = d.batch;
  s.sequence = d.sequence;
  s.vocab = d.vocab;
  s.padded_vocab = d.padded;
  for (std::int64_t b = 0; b < d.batch; ++b) s.sequences.push_back({b * d.sequence, (b + 1) * d.sequence});
  s.active = s.use = d.use;
  s.temperature.assign(at(d.rows()), d.temperature);
  const float t = d.temperature;
  s.variants.push_back(variant_of(d, "audited", t, TemperatureOrder::f32));
  if (t != 1.0f) {
    s.variants.push_back(variant_of(d, "temperature_ignored", 1, TemperatureOrder::f32));
    s.variants.push_back(variant_of(d, "temperature_native", t, TemperatureOrder::native));
    s.variants.push_back(variant_of(d, "temperature_reciprocal", t, TemperatureOrder::reciprocal));
    s.variants.push_back(variant_of(d, "temperature_twice", t * t, TemperatureOrder::f32));
  }
  for (std::size_t r = 0; r < d.logits.size(); ++r) {
    const auto& row = d.logits[r];
    s.argmax.push_back(std::max_element(row.begin(), row.begin() + d.vocab) - row.begin());
    double sigma = 0, entropy = 0;
    for (std::int64_t c = 0; c < d.vocab; ++c) {
      const double logp = static_cast<double>(row[at(c)] / t) - s.variants[0].lse[r], p = std::exp(logp);
      const double delta = (c == d.targets[r] ? 1.0 : 0.0) - p, ulp = stored_ulp(d.dtype, row[at(c)]);
      sigma += delta * delta * ulp * ulp / 12 / static_cast<double>(t * t);
      entropy -= p * logp;
    }
    s.sigma.push_back(static_cast<float>(std::sqrt(sigma)));
    s.entropy.push_back(static_cast<float>(entropy));
  }
  s.columns = columns_to_pick(d.targets, s.sequences, d.vocab, d.padded);
  for (ColumnPick& pick : s.columns) {
    if (pick.id == "argmax") pick.column = s.argmax;
    for (std::size_t r = 0; r < pick.column.size(); ++r)
      pick.stored.push_back(pick.column[r] < 0 ? std::numeric_limits<float>::quiet_NaN()
                                               : d.logits[r][at(pick.column[r])]);
  }
  for (const int tp : {2, 4, 8})
    for (int rank = 0; rank < tp; ++rank) {
      s.shards[tp].emplace_back();
      const Range own = intersect(even_part(d.padded, tp, rank), {0, d.vocab});
      for (const auto& row : d.logits) {
        std::vector<double> x;
        for (std::int64_t c = own.begin; c < own.end; ++c) x.push_back(static_cast<double>(row[at(c)] / t));
        s.shards[tp].back().push_back(static_cast<float>(log_sum(x)));
      }
    }
  std::vector<SampleRow> samples;
  for (const std::int64_t row : rows_to_sample(s.use, 32))
    samples.push_back({row, {d.logits[at(row)].begin(), d.logits[at(row)].begin() + d.vocab}});
  if (const auto fitted = fitted_temperature(samples, s, recorded))
    s.variants.push_back(
        variant_of(d, "temperature_fitted", static_cast<float>(*fitted), TemperatureOrder::f32));
  if (const auto fitted = fitted_truncation(samples, s, recorded))
    s.variants.push_back(variant_of(d, "truncation_fitted", t, TemperatureOrder::f32, *fitted));
  return s;
}

}  // namespace drift::test
