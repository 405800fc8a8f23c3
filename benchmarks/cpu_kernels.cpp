// How fast each CPU kernel reads logits, on one thread: GB/s of stored bytes, and that as a fraction of what
// this machine reads at all (an xor over the same bytes, measured in the same run). Rows are as wide as a
// large vocabulary, and their bytes exceed the caches.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "base/float16.hpp"
#include "kernels/instruction_set.hpp"
#include "kernels/pack_values.hpp"
#include "kernels/row_census.hpp"
#include "kernels/row_max.hpp"
#include "kernels/row_moments.hpp"
#include "kernels/row_sum_exp.hpp"
#include "kernels/torch_log_softmax.hpp"
#include "kernels/tree_sum.hpp"

namespace {

using namespace drift;

constexpr std::int64_t vocab = 151669, padded = 152064, rows = 256;

/// Bell-shaped logits, standard deviation 4, from a counter: no generator's state, the same in every run.
float logit(std::uint64_t i) {
  std::uint64_t z = i * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  const auto part = [z](int at) { return static_cast<std::int64_t>((z >> at) & 0xffff); };
  return static_cast<float>(part(0) + part(16) + part(32) + part(48) - 131070) * 0x1p-13f;
}

const std::vector<std::byte>& stored(Dtype dtype) {
  const auto make = [](std::size_t size, auto&& bits) {
    std::vector<std::byte> data(static_cast<std::size_t>(rows * padded) * size);
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows * padded); ++i) {
      const auto value = bits(logit(i));
      std::memcpy(data.data() + i * size, &value, size);
    }
    return data;
  };
  static const std::vector<std::byte> bf16 = make(2, round_bf16), f16 = make(2, round_f16),
                                      f32 = make(4, [](float x) { return x; });
  return dtype == Dtype::BF16 ? bf16 : dtype == Dtype::F16 ? f16 : f32;
}

LogitsView view(Dtype dtype) {
  LogitsView view;
  view.rule.stored = view.rule.candidate = dtype;
  view.data = stored(dtype).data();
  view.rows = rows;
  view.pitch = padded;
  view.columns = {0, padded};
  view.vocab = vocab;
  return view;
}

std::int64_t bytes_read(const LogitsView& logits) {
  return logits.rows * logits.pitch * logits.bytes_per_element();
}

std::uint64_t xor_all(const std::vector<std::byte>& data) {
  std::uint64_t lanes[8]{};
  for (std::size_t at = 0; at + 64 <= data.size(); at += 64)
    for (std::size_t i = 0; i < 8; ++i) {
      std::uint64_t word;
      std::memcpy(&word, data.data() + at + 8 * i, 8);
      lanes[i] ^= word;
    }
  std::uint64_t all = 0;
  for (const std::uint64_t lane : lanes) all ^= lane;
  return all;
}

/// GB/s of the best read so far: measured anew beside every kernel, since a busy machine slows one and not
/// the other.
double read_ceiling() {
  static double best = 0;
  const std::vector<std::byte>& data = stored(Dtype::BF16);
  for (int i = 0; i < 3; ++i) {
    const auto start = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(xor_all(data));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::max(best, static_cast<double>(data.size()) / seconds.count() / 1e9);
  }
  return best;
}

/// Runs `kernel` on all rows, over and over, and reports its best pass.
template <class Kernel>
void measure(benchmark::State& state, const LogitsView& logits, Kernel&& kernel) {
  const double ceiling = read_ceiling();
  double best = 1e30;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    kernel(logits);
    benchmark::ClobberMemory();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  const double speed = static_cast<double>(bytes_read(logits)) / best / 1e9;
  state.counters["GB/s"] = speed;
  state.counters["of_read"] = speed / ceiling;
}

void add(const std::string& name, Dtype dtype, void (*kernel)(const LogitsView&)) {
  const std::string full = name + "/" + std::string(drift::name(dtype));
  benchmark::RegisterBenchmark(full.c_str(),
                               [=](benchmark::State& state) {
                                 LogitsView logits = view(dtype);
                                 measure(state, logits, kernel);
                               })
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime();
}

void add_tree_sum(const cpu::InstructionSet& set, Dtype dtype, float temperature, const std::string& suffix) {
  if (!set.runs_here()) return;
  const std::string full =
      "tree_sum_" + std::string(set.name) + suffix + "/" + std::string(drift::name(dtype));
  benchmark::RegisterBenchmark(
      full.c_str(),
      [=](benchmark::State& state) {
        LogitsView logits = view(dtype);
        logits.rule.temperature = temperature;
        if (set.name == "scalar") logits.rows = 8;  // calls the C library for every fma
        const TreePlan plan = make_tree_plan(logits.columns, vocab);
        std::vector<TreeValue> out(static_cast<std::size_t>(rows));
        measure(state, logits, [&](const LogitsView& all) { set.tree_sum(all, plan, 1, out.data()); });
      })
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime();
}

void add_row_moments(const cpu::InstructionSet& set, Dtype dtype, float temperature,
                     const std::string& suffix) {
  if (!set.runs_here()) return;
  const std::string full =
      "row_moments_" + std::string(set.name) + suffix + "/" + std::string(drift::name(dtype));
  benchmark::RegisterBenchmark(full.c_str(),
                               [=](benchmark::State& state) {
                                 LogitsView logits = view(dtype);
                                 logits.rule.temperature = temperature;
                                 if (set.name == "scalar")
                                   logits.rows = 8;  // calls the C library for every fma
                                 std::vector<RowMoments> out(static_cast<std::size_t>(rows));
                                 measure(state, logits,
                                         [&](const LogitsView& all) { set.row_moments(all, out.data()); });
                               })
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime();
}

std::vector<float>& floats() {
  static std::vector<float> out(static_cast<std::size_t>(rows));
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (const Dtype dtype : {Dtype::BF16, Dtype::F32}) {
    add("read_ceiling", dtype,
        [](const LogitsView& logits) { benchmark::DoNotOptimize(xor_all(stored(logits.rule.stored))); });
    for (const cpu::InstructionSet& set : cpu::instruction_sets()) add_tree_sum(set, dtype, 1.0f, "");
    add_tree_sum(cpu::best_instruction_set(), dtype, 0.7f, "_temperature");
    for (const cpu::InstructionSet& set : cpu::instruction_sets()) add_row_moments(set, dtype, 1.0f, "");
    add_row_moments(cpu::best_instruction_set(), dtype, 0.7f, "_temperature");
    add("row_max", dtype, [](const LogitsView& logits) { cpu::row_max(logits, floats().data()); });
    add("row_sum_exp", dtype, [](const LogitsView& logits) {
      static const std::vector<float> shift(static_cast<std::size_t>(rows), 20.0f);
      cpu::row_sum_exp(logits, shift.data(), floats().data());
    });
    add("row_census", dtype, [](const LogitsView& logits) {
      static const std::vector<std::int64_t> targets(static_cast<std::size_t>(rows), 1);
      static std::vector<RowCensus> out(static_cast<std::size_t>(rows));
      cpu::row_census(logits, targets.data(), out.data());
    });
    add("pack_values", dtype, [](const LogitsView& logits) {
      static std::vector<float> out(static_cast<std::size_t>(rows * vocab));
      cpu::pack_values(logits, vocab, out.data());
    });
  }
  add_tree_sum(cpu::best_instruction_set(), Dtype::F16, 1.0f, "");
  add("torch_log_softmax", Dtype::F32, [](const LogitsView& logits) {
    static const std::vector<std::int64_t> index(static_cast<std::size_t>(rows), 0), targets(index);
    static std::vector<float> logp(static_cast<std::size_t>(rows));
    cpu::torch_log_softmax(reinterpret_cast<const float*>(logits.data), logits.rows, padded, index.data(),
                           targets.data(), {floats().data(), logp.data()});
  });
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
