// Every row kernel of the GPU against the CPU's: the same bits, or within what its header states where exp or
// log is the platform's.

#include <cmath>

#include "cuda/gpu_rows.hpp"
#include "kernels/pack_values.hpp"
#include "kernels/row_census.hpp"
#include "kernels/row_log_prob.hpp"
#include "kernels/row_max.hpp"
#include "kernels/row_sum_exp.hpp"
#include "kernels/row_target.hpp"
#include "topology/shard.hpp"

namespace drift::test {
namespace {

std::vector<float> floats(std::int64_t count, float value = 0.0f) {
  return std::vector<float>(static_cast<std::size_t>(count), value);
}

}  // namespace

TEST_CASE(
    "cuda row_max, row_target and row_census: the CPU's bits for every dtype, rule, width and alignment") {
  const auto gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  int views = 0;
  for_every_view(*gpu, true, [&](const LogitsView& host, const LogitsView& device, const std::string& note) {
    ++views;
    INFO(note);
    const std::vector<std::int64_t> targets = varied_targets(host.rows, host.vocab);
    const Buffer device_targets = uploaded(*gpu, targets);

    std::vector<float> max = floats(host.rows), target = floats(host.rows);
    std::vector<RowCensus> census(static_cast<std::size_t>(host.rows));
    cpu::row_max(host, max.data());
    cpu::row_target(host, targets.data(), target.data());
    cpu::row_census(host, targets.data(), census.data());

    Buffer gpu_max = poisoned<float>(*gpu, host.rows), gpu_target = poisoned<float>(*gpu, host.rows),
           gpu_census = poisoned<RowCensus>(*gpu, host.rows);
    gpu->row_max(device, gpu_max.as<float>());
    gpu->row_target(device, device_targets.as<std::int64_t>(), gpu_target.as<float>());
    gpu->row_census(device, device_targets.as<std::int64_t>(), gpu_census.as<RowCensus>());

    CHECK(same_bits(downloaded<float>(*gpu, gpu_max), max));
    CHECK(worst_ulp(downloaded<float>(*gpu, gpu_target), target) == 0);  // NaN's payload is not promised
    CHECK(same_bits(downloaded<RowCensus>(*gpu, gpu_census), census));
  });
  CHECK(views == 4 * 5 * 4 * 4 * 6);
}

TEST_CASE("cuda row_census: counts the F64 values that fp32 does not hold, wherever they are") {
  const auto gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  const std::int64_t vocab = 3001;
  std::vector<std::vector<double>> rows(4, std::vector<double>(static_cast<std::size_t>(vocab), 0.5));
  for (std::size_t c = 0; c < rows[0].size(); ++c) {
    rows[1][c] = static_cast<double>(c) / 3;
    rows[2][c] = c % 2 == 0 ? -1e300 : 1e-320;
    rows[3][c] = c % 100 == 7   ? std::nan("")
                 : c % 100 == 8 ? 1e300
                                : -std::numeric_limits<double>::infinity();
  }
  const StoredRows host(Dtype::F64, rows, vocab, 0);
  const GpuRows device(*gpu, host, 0);
  LogitsView view = host.view();
  view.rule = {.stored = Dtype::F64, .candidate = Dtype::F32};
  const std::vector<std::int64_t> targets{0, -1, 0, 1};
  std::vector<RowCensus> wanted(4);
  cpu::row_census(view, targets.data(), wanted.data());
  CHECK(wanted[0].rounded == 0);
  CHECK(wanted[1].rounded == 2000);
  CHECK(wanted[2].rounded == vocab);
  CHECK(wanted[3].rounded == 30);
  Buffer out = poisoned<RowCensus>(*gpu, 4);
  gpu->row_census(device(view), uploaded(*gpu, targets).as<std::int64_t>(), out.as<RowCensus>());
  CHECK(same_bits(downloaded<RowCensus>(*gpu, out), wanted));
}

TEST_CASE("cuda pack_values and assemble_rows: the CPU's bits, and nothing written elsewhere") {
  const auto gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  for_every_view(*gpu, false, [&](const LogitsView& host, const LogitsView& device, const std::string& note) {
    INFO(note);
    const std::int64_t pitch = host.columns.size() + 2;
    Buffer packed = poisoned<float>(*gpu, host.rows * pitch);
    std::vector<float> wanted = downloaded<float>(*gpu, packed);
    cpu::pack_values(host, pitch, wanted.data());
    gpu->pack_values(device, pitch, packed.as<float>());
    CHECK(same_bits(downloaded<float>(*gpu, packed), wanted));
  });

  const std::int64_t rows = 9, vocab = 1003;
  for (const std::vector<std::int64_t>& bounds : {std::vector<std::int64_t>{0, 1003},
                                                  {0, 1, 600, 1003},
                                                  {0, 500, 1010},
                                                  {0, 0, 333, 999, 1003, 1024}}) {
    std::int64_t pitch = 0;
    for (std::size_t i = 0; i + 1 < bounds.size(); ++i) pitch = std::max(pitch, bounds[i + 1] - bounds[i]);
    std::vector<float> gathered = floats(static_cast<std::int64_t>(bounds.size() - 1) * rows * pitch);
    for (std::size_t i = 0; i < gathered.size(); ++i) gathered[i] = static_cast<float>(i) * 0.5f;
    const Buffer device = uploaded(*gpu, gathered);
    Buffer out = poisoned<float>(*gpu, rows * vocab);
    std::vector<float> wanted = floats(rows * vocab);
    cpu::assemble_rows(gathered.data(), bounds, rows, pitch, vocab, wanted.data());
    gpu->assemble_rows(device.as<float>(), bounds, rows, pitch, vocab, out.as<float>());
    CHECK(same_bits(downloaded<float>(*gpu, out), wanted));
  }
}

TEST_CASE("cuda row_sum_exp and row_log_prob: within their stated bounds of the exact result") {
  const auto gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  double worst_sum = 0, worst_log = 0;
  for_every_view(*gpu, false, [&](const LogitsView& host, const LogitsView& device, const std::string& note) {
    INFO(note);
    const std::int64_t rows = host.rows, count = host.real().size();
    std::vector<float> max = floats(rows), values = floats(rows * (count + 1));
    cpu::row_max(host, max.data());
    for (float& m : max)
      if (m == -std::numeric_limits<float>::infinity()) m = 0.0f;  // a row without a value: its sum is zero
    cpu::pack_values(host, count + 1, values.data());
    const Buffer device_max = uploaded(*gpu, max);
    Buffer sum = poisoned<float>(*gpu, rows);
    gpu->row_sum_exp(device, device_max.as<float>(), sum.as<float>());
    const std::vector<float> sums = downloaded<float>(*gpu, sum);
    for (std::int64_t r = 0; r < rows; ++r) {
      double exact = 0, allowed = 0;
      for (std::int64_t c = 0; c < count; ++c) {
        const double apart = static_cast<double>(values[static_cast<std::size_t>(r * (count + 1) + c)]) -
                             static_cast<double>(max[static_cast<std::size_t>(r)]);
        if (apart < -1e6) continue;
        const double term = std::exp(apart);
        exact += term;
        allowed += term * (4 - apart + static_cast<double>((count + 511) / 512 + 9)) * 0x1p-24;
      }
      allowed += static_cast<double>(count) * 0x1p-149;  // terms below fp32's normal range
      const double error = std::abs(static_cast<double>(sums[static_cast<std::size_t>(r)]) - exact);
      if (allowed > 0) worst_sum = std::max(worst_sum, error / allowed);
      if (allowed == 0) CHECK(error == 0);
    }

    std::vector<std::int64_t> targets = varied_targets(rows, host.vocab);
    std::vector<float> positive = sums, target = max, lse = floats(rows), logp = floats(rows);
    for (float& s : positive) s = std::max(s, 1.0f);
    for (float& t : target) t -= 1.5f;
    cpu::row_log_prob(max.data(), positive.data(), target.data(), targets.data(), rows,
                      {lse.data(), logp.data()});
    const Buffer device_sum = uploaded(*gpu, positive), device_target = uploaded(*gpu, target),
                 device_targets = uploaded(*gpu, targets);
    Buffer gpu_lse = poisoned<float>(*gpu, rows), gpu_logp = poisoned<float>(*gpu, rows);
    gpu->row_log_prob(device_max.as<float>(), device_sum.as<float>(), device_target.as<float>(),
                      device_targets.as<std::int64_t>(), rows, {gpu_lse.as<float>(), gpu_logp.as<float>()});
    const std::vector<float> lse_here = downloaded<float>(*gpu, gpu_lse),
                             logp_here = downloaded<float>(*gpu, gpu_logp);
    for (std::size_t r = 0; r < lse.size(); ++r) {
      // Each side's log is within 1 ulp, and the sum that follows rounds once more.
      const double slack = 2 * ulp32(std::log(static_cast<double>(positive[r])));
      worst_log =
          std::max(worst_log, std::abs(static_cast<double>(lse_here[r]) - static_cast<double>(lse[r])) /
                                  (slack + ulp32(static_cast<double>(lse[r]))));
      if (targets[r] < 0)
        CHECK(std::bit_cast<std::uint32_t>(logp_here[r]) == 0x7fc00000u);
      else
        worst_log =
            std::max(worst_log, std::abs(static_cast<double>(logp_here[r]) - static_cast<double>(logp[r])) /
                                    (slack + ulp32(static_cast<double>(logp[r]))));
    }
  });
  CHECK(worst_sum <= 1.0);
  CHECK(worst_log <= 1.0);
}

TEST_CASE("cuda kernels: no rows is no work and no error") {
  const auto gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  LogitsView none;
  none.columns = {0, 100};
  none.pitch = none.vocab = 100;
  gpu->row_max(none, nullptr);
  gpu->row_sum_exp(none, nullptr, nullptr);
  gpu->row_target(none, nullptr, nullptr);
  gpu->row_census(none, nullptr, nullptr);
  gpu->pack_values(none, 100, nullptr);
  gpu->tree_sum(none, make_tree_plan(none.columns, none.vocab), 20, nullptr);
  gpu->row_log_prob(nullptr, nullptr, nullptr, nullptr, 0, {});
  gpu->torch_log_softmax(nullptr, 0, 100, nullptr, nullptr, {});
  const std::vector<std::int64_t> bounds{0, 100};
  gpu->tree_finish(nullptr, make_tree_merge(bounds, 100), nullptr, 0, {});
  SUCCEED("no launch failed");
}

}  // namespace drift::test
