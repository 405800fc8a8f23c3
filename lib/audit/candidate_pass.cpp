#include "audit/candidate_pass.hpp"

#include <algorithm>
#include <span>

#include "audit/chunk_feed.hpp"
#include "base/digest.hpp"

namespace drift {

CandidatePass run_candidates(const Case& run, const DumpFile& dump, const Inputs& inputs,
                             const KeptRows& kept, int cp_rank, Backend& on, Collective& tp,
                             const Progress& progress) {
  const std::vector<Range> rows = run.rows_of(cp_rank);
  const std::int64_t total = count(rows);
  const Range columns = run.bounds.columns(tp.rank());
  ChunkFeed feed(dump, run.roles, on,
                 {.rows = rows,
                  .columns = columns,
                  .rows_per_chunk = run.rows_per_chunk,
                  .temperature = inputs.temperature,
                  .kept = &kept});

  const std::int64_t most = std::max<std::int64_t>(1, std::min(run.rows_per_chunk, total));
  Buffer targets = on.allocate(most * 8), row_index = on.allocate(most * 8);
  Buffer lse = on.allocate(most * 4), logp = on.allocate(most * 4);

  CandidatePass out;
  for (std::size_t f = 0; f < run.formulas.size(); ++f)
    out.values.push_back({std::vector<float>(static_cast<std::size_t>(total)),
                          std::vector<float>(static_cast<std::size_t>(total))});

  while (const auto chunk = feed.next()) {
    const std::vector<std::int64_t> numbers = row_numbers(chunk->rows);
    const std::vector<std::int64_t> columns_wanted = picked(inputs.targets, chunk->rows);
    on.upload(columns_wanted.data(), targets.data(), chunk->count * 8);
    on.upload(numbers.data(), row_index.data(), chunk->count * 8);
    const FormulaInput input{.logits = {.data = chunk->logits,
                                        .rows = chunk->count,
                                        .pitch = chunk->pitch,
                                        .columns = columns,
                                        .vocab = run.vocab,
                                        .rule = rule_of_row(inputs, run.candidate, numbers.front())},
                             .bounds = run.bounds,
                             .targets = targets.as<std::int64_t>(),
                             .row_index = row_index.as<std::int64_t>(),
                             .on = on,
                             .tp = tp};
    for (std::size_t f = 0; f < run.formulas.size(); ++f) {
      run.formulas[f]->run(input, {lse.as<float>(), logp.as<float>()});
      on.download(lse.data(), out.values[f].lse.data() + chunk->first, chunk->count * 4);
      on.download(logp.data(), out.values[f].logp.data() + chunk->first, chunk->count * 4);
    }
    progress(chunk->first + chunk->count, total);
  }
  out.bytes_read = feed.bytes_read();
  return out;
}

void check_replicas(CandidatePass& pass, Control& tp) {
  for (const RowValues& values : pass.values) {
    Digester bits;
    bits.update(std::as_bytes(std::span(values.lse)));
    bits.update(std::as_bytes(std::span(values.logp)));
    const Digest mine = bits.finish();
    std::vector<Digest> all(static_cast<std::size_t>(tp.size()));
    tp.all_gather(mine.data(), all.data(), sizeof mine);
    pass.replicated.push_back(
        std::all_of(all.begin(), all.end(), [&](const Digest& other) { return other == mine; }));
  }
}

}  // namespace drift
