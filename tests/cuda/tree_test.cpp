// fixed-tree on the GPU: the CPU's bits for every kind of tile, shard and alignment.

#include "cuda/gpu_rows.hpp"
#include "kernels/row_target.hpp"
#include "kernels/tree_sum.hpp"

namespace drift::test {
namespace {

struct Outcome {
  std::vector<std::byte> blocks;
  std::vector<float> lse, logp;
};

/// All ranks' tree_sum, blocks laid as an all-gather lays them, and tree_finish, on the CPU.
Outcome on_cpu(const StoredRows& stored, const ValueRule& rule, const std::vector<std::int64_t>& bounds,
               const std::vector<std::int64_t>& targets) {
  const LogitsView whole = stored.view();
  const TreeMerge merge = make_tree_merge(bounds, whole.vocab);
  const std::int64_t rows = whole.rows, block = merge.block_bytes(rows);
  Outcome out{std::vector<std::byte>(static_cast<std::size_t>(block) * (bounds.size() - 1)),
              std::vector<float>(static_cast<std::size_t>(rows)),
              std::vector<float>(static_cast<std::size_t>(rows))};
  for (std::size_t rank = 0; rank + 1 < bounds.size(); ++rank) {
    LogitsView shard = stored.view({bounds[rank], bounds[rank + 1]});
    shard.rule = rule;
    std::vector<TreeValue> values(static_cast<std::size_t>(rows * merge.slots));
    std::vector<float> target(static_cast<std::size_t>(rows));
    cpu::tree_sum(shard, make_tree_plan(shard.columns, shard.vocab), merge.slots, values.data());
    cpu::row_target(shard, targets.data(), target.data());
    std::byte* at = out.blocks.data() + static_cast<std::int64_t>(rank) * block;
    std::memcpy(at, values.data(), values.size() * sizeof(TreeValue));
    std::memcpy(at + values.size() * sizeof(TreeValue), target.data(), target.size() * sizeof(float));
  }
  cpu::tree_finish(out.blocks.data(), merge, targets.data(), rows, {out.lse.data(), out.logp.data()});
  return out;
}

Outcome on_gpu(Backend& gpu, const StoredRows& stored, const GpuRows& device, const ValueRule& rule,
               const std::vector<std::int64_t>& bounds, const std::vector<std::int64_t>& targets) {
  const LogitsView whole = stored.view();
  const TreeMerge merge = make_tree_merge(bounds, whole.vocab);
  const std::int64_t rows = whole.rows, block = merge.block_bytes(rows);
  Buffer blocks = poisoned<std::byte>(gpu, block * static_cast<std::int64_t>(bounds.size() - 1));
  const Buffer device_targets = uploaded(gpu, targets);
  for (std::size_t rank = 0; rank + 1 < bounds.size(); ++rank) {
    LogitsView shard = device(stored.view({bounds[rank], bounds[rank + 1]}));
    shard.rule = rule;
    auto* values = reinterpret_cast<TreeValue*>(blocks.data() + static_cast<std::int64_t>(rank) * block);
    gpu.tree_sum(shard, make_tree_plan(shard.columns, shard.vocab), merge.slots, values);
    gpu.row_target(shard, device_targets.as<std::int64_t>(),
                   reinterpret_cast<float*>(values + rows * merge.slots));
  }
  Buffer lse = poisoned<float>(gpu, rows), logp = poisoned<float>(gpu, rows);
  gpu.tree_finish(blocks.data(), merge, device_targets.as<std::int64_t>(), rows,
                  {lse.as<float>(), logp.as<float>()});
  return {downloaded<std::byte>(gpu, blocks), downloaded<float>(gpu, lse), downloaded<float>(gpu, logp)};
}

void check_same(const Outcome& gpu, const Outcome& cpu) {
  CHECK(same_bits(gpu.blocks, cpu.blocks));
  CHECK(same_bits(gpu.lse, cpu.lse));
  CHECK(same_bits(gpu.logp, cpu.logp));
}

std::vector<std::vector<std::int64_t>> cuts(std::int64_t vocab, std::int64_t padded) {
  const std::int64_t third = (vocab + 2) / 3;
  return {{0, padded},
          {0, padded / 2, padded},
          {0, std::min<std::int64_t>(1, third), third, third, std::max(third, vocab - 1), padded},
          {0, std::min<std::int64_t>(2048, padded), padded}};
}

}  // namespace

TEST_CASE("cuda tree_sum and tree_finish: the CPU's bits, cut anywhere") {
  const auto gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  int compared = 0;
  for (const Dtype stored : logits_dtypes)
    for (const std::int64_t vocab : {1, 9, 300, 2048, 6150, 20000}) {
      const Rows rows = varied_rows(vocab, 23);
      const std::vector<std::int64_t> targets = varied_targets(static_cast<std::int64_t>(rows.size()), vocab);
      for (const auto& [padded, misaligned] :
           {std::pair<std::int64_t, int>{vocab, 1}, {(vocab + 135) / 128 * 128, 0}, {vocab + 5, 4}}) {
        const StoredRows host(stored, rows, padded, misaligned);
        const GpuRows device(*gpu, host, misaligned);
        for (const ValueRule& rule : varied_rules(stored)) {
          if (vocab == 20000 && !rule.is_plain() && rule.order != TemperatureOrder::f32) continue;
          for (const std::vector<std::int64_t>& bounds : cuts(vocab, padded)) {
            INFO(name(stored) << " vocab " << vocab << " padded " << padded << " misaligned " << misaligned
                              << " ranks " << bounds.size() - 1 << " candidate " << name(rule.candidate)
                              << " T " << rule.temperature << " order " << static_cast<int>(rule.order));
            check_same(on_gpu(*gpu, host, device, rule, bounds, targets),
                       on_cpu(host, rule, bounds, targets));
            ++compared;
          }
        }
      }
    }
  CHECK(compared > 1000);
}

TEST_CASE("cuda tree_sum: rows with NaN and +inf end, and leave the rows beside them alone") {
  const auto gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  const std::int64_t vocab = 9000;
  const Rows all = varied_rows(vocab, 29, true);
  const std::size_t good = varied_rows(vocab, 29).size();
  const std::vector<std::int64_t> targets = varied_targets(static_cast<std::int64_t>(all.size()), vocab);
  for (const Dtype stored : logits_dtypes) {
    const StoredRows host(stored, all, vocab, 0);
    const GpuRows device(*gpu, host, 0);
    const ValueRule rule = varied_rules(stored)[0];
    const Outcome here = on_gpu(*gpu, host, device, rule, {0, vocab}, targets),
                  there = on_cpu(host, rule, {0, vocab}, targets);
    INFO(name(stored));
    for (std::size_t r = 0; r < good; ++r) {
      CHECK(std::bit_cast<std::uint32_t>(here.lse[r]) == std::bit_cast<std::uint32_t>(there.lse[r]));
      CHECK(std::bit_cast<std::uint32_t>(here.logp[r]) == std::bit_cast<std::uint32_t>(there.logp[r]));
    }
  }
}

TEST_CASE("cuda tree_sum: many rows of a whole vocabulary, bits over the whole persistent grid", "[large]") {
  const auto gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  const std::int64_t vocab = 151669, padded = 151936;
  Rows rows;
  for (std::uint64_t seed = 0; seed < 4; ++seed)
    for (auto& row : varied_rows(vocab, 100 + seed)) rows.push_back(std::move(row));
  const std::vector<std::int64_t> targets = varied_targets(static_cast<std::int64_t>(rows.size()), vocab);
  for (const Dtype stored : {Dtype::BF16, Dtype::F32}) {
    const StoredRows host(stored, rows, padded, 0);
    const GpuRows device(*gpu, host, 0);
    const ValueRule rule = varied_rules(stored)[0];
    for (const std::vector<std::int64_t>& bounds : {std::vector<std::int64_t>{0, padded},
                                                    {0, 37984, 75968, 113952, padded},
                                                    {0, 50001, 100003, padded}})
      check_same(on_gpu(*gpu, host, device, rule, bounds, targets), on_cpu(host, rule, bounds, targets));
  }
}

}  // namespace drift::test
