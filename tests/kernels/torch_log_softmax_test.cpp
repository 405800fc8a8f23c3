// The order of torch's sums, told apart by where tiny terms meet: bits of one order are not the bits of
// another.

#include "kernels/torch_log_softmax.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/golden_rows.hpp"
#include "kernels/instruction_set.hpp"
#include "support/catch.hpp"

using namespace drift;

namespace {

/// One thread after another, element after element, as torch's kernel walks: slow, and written from its
/// description.
float sum_as_threads_do(const std::vector<float>& terms, std::int64_t shift, bool shared_memory) {
  const auto size = static_cast<std::int64_t>(terms.size());
  std::vector<float> sums(1024, 0.0f);
  for (std::int64_t thread = 0; thread < 1024; ++thread) {
    float& sum = sums[static_cast<std::size_t>(thread)];
    const auto add = [&](std::int64_t i) { sum += terms[static_cast<std::size_t>(i)]; };
    std::int64_t start = 0;
    if (shift > 0) {
      if (thread >= shift) add(thread - shift);
      start = 1024 - shift;
    }
    const std::int64_t left = size - start, tail = shared_memory ? 0 : left % 4096;
    for (std::int64_t v = thread; v * 4 < left - tail; v += 1024)
      for (std::int64_t lane = 0; lane < 4; ++lane) add(start + v * 4 + lane);
    for (std::int64_t i = left - tail + thread; i < left; i += 1024) add(start + i);
  }
  std::vector<float> warps(32);
  const auto shuffle_down = [](float* lanes) {
    for (int apart = 16; apart > 0; apart /= 2)
      for (int lane = 0; lane + apart < 32; ++lane)
        lanes[lane] += lanes[lane + apart];  // ascending: reads old values
  };
  for (int w = 0; w < 32; ++w) {
    shuffle_down(sums.data() + w * 32);
    warps[static_cast<std::size_t>(w)] = sums[static_cast<std::size_t>(w) * 32];
  }
  shuffle_down(warps.data());
  return warps[0];
}

}  // namespace

TEST_CASE("torch_log_softmax: the bits of a walk thread by thread, aligned rows and not") {
  golden::Random random(41);
  for (const std::int64_t vocab : {9217, 10007, 12000, 12252, 12256, 32001, 50257}) {
    std::vector<float> values(static_cast<std::size_t>(vocab) * 4);
    for (float& x : values) x = 4 * random.bell();
    const std::vector<std::int64_t> index{0, 5, 6, 7}, targets{0, 77, -1, vocab - 1};
    std::vector<float> lse(4), logp(4);
    cpu::torch_log_softmax(values.data(), 4, vocab, index.data(), targets.data(), {lse.data(), logp.data()});
    for (std::size_t r = 0; r < 4; ++r) {
      CAPTURE(vocab, index[r]);
      const float* x = values.data() + static_cast<std::int64_t>(r) * vocab;
      const float max = *std::max_element(x, x + vocab);
      std::vector<float> terms(static_cast<std::size_t>(vocab));
      cpu::exp_minus(x, vocab, max, terms.data());
      const std::int64_t shift = index[r] * vocab * 4 % 16 / 4;
      const float log_sum = std::log(sum_as_threads_do(terms, shift, vocab <= 12255 && vocab % 4 == 0));
      CHECK(lse[r] == max + log_sum);
      if (targets[r] < 0)
        CHECK(std::bit_cast<std::uint32_t>(logp[r]) == 0x7fc00000u);
      else
        CHECK(logp[r] == (x[targets[r]] - max) - log_sum);
    }
  }
}

TEST_CASE("torch_log_softmax: close to the exact log-prob") {
  golden::Random random(42);
  constexpr std::int64_t vocab = 20000;
  std::vector<float> x(vocab);
  for (float& value : x) value = 4 * random.bell();
  x[3] = golden::minus_inf;
  double sum = 0;
  for (const float value : x) sum += std::exp(static_cast<double>(value));
  const std::int64_t index = 0, target = 12345;
  float lse = 0, logp = 0;
  cpu::torch_log_softmax(x.data(), 1, vocab, &index, &target, {&lse, &logp});
  CHECK(std::fabs(static_cast<double>(lse) - std::log(sum)) < 3e-6);
  CHECK(std::fabs(static_cast<double>(logp) - (static_cast<double>(x[target]) - std::log(sum))) < 5e-6);
}

TEST_CASE("torch_log_softmax: NaN makes the row NaN") {
  std::vector<float> x(10000, 1.0f);
  x[500] = std::numeric_limits<float>::quiet_NaN();
  const std::int64_t index = 0, target = 1;
  float lse = 0, logp = 0;
  cpu::torch_log_softmax(x.data(), 1, 10000, &index, &target, {&lse, &logp});
  CHECK(std::isnan(lse));
  CHECK(std::isnan(logp));
}
