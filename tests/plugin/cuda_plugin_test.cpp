// The CUDA example on a GPU: right values, and the same interface in device memory.

#include "cuda/gpu_rows.hpp"
#include "plugin/plugin_run.hpp"

using namespace drift;
using namespace drift::test;

TEST_CASE("plug-in: the CUDA example is within its default bounds in device memory") {
  const auto gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  const auto plugin = load_plugin(example_plugin("cuda_log_prob"));
  CHECK(plugin->id == "example-cuda");
  const auto tp = make_solo_collective(*gpu);
  const VocabBounds bounds = even_bounds(20480, 1);
  for (const Dtype dtype : {Dtype::BF16, Dtype::F16, Dtype::F32})
    for (const float temperature : {1.0f, 0.7f}) {
      const PluginRows rows({.rows = 5,
                             .vocab = 20001,
                             .padded = 20480,
                             .dtype = dtype,
                             .rule = {.stored = dtype, .candidate = dtype, .temperature = temperature}});
      const std::int64_t pitch = 20483;
      const Buffer logits = uploaded(*gpu, rows.shard({0, 20480}, pitch));
      const Buffer targets = uploaded(*gpu, rows.targets);
      const Buffer numbers = uploaded(*gpu, std::vector<std::int64_t>{7, 8, 9, 10, 11});
      Buffer lse = poisoned<float>(*gpu, rows.shape.rows), logp = poisoned<float>(*gpu, rows.shape.rows);
      plugin->run({.logits = {.data = logits.data(),
                              .rows = rows.shape.rows,
                              .pitch = pitch,
                              .columns = {0, 20480},
                              .vocab = rows.shape.vocab,
                              .rule = rows.shape.rule},
                   .bounds = bounds,
                   .targets = targets.as<std::int64_t>(),
                   .row_index = numbers.as<std::int64_t>(),
                   .on = *gpu,
                   .tp = *tp},
                  {lse.as<float>(), logp.as<float>()});
      const Values got{downloaded<float>(*gpu, lse), downloaded<float>(*gpu, logp)};
      INFO(name(dtype) << " T " << temperature);
      CHECK(closest(*plugin, rows, bounds, got).lse <= 1);
      CHECK(closest(*plugin, rows, bounds, got).logp <= 1);
      CHECK(std::bit_cast<std::uint32_t>(got.logp[2]) == 0x7fc00000u);
    }
}
