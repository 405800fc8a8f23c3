// row_moments on the GPU: the CPU's bits, always.

#include <cmath>

#include "cuda/gpu_rows.hpp"
#include "kernels/row_moments.hpp"

namespace drift::test {
namespace {

std::vector<RowMoments> on_cpu(const LogitsView& view) {
  std::vector<RowMoments> out(static_cast<std::size_t>(view.rows));
  cpu::row_moments(view, out.data());
  return out;
}

std::vector<RowMoments> on_gpu(Backend& gpu, const LogitsView& view) {
  Buffer out = poisoned<RowMoments>(gpu, view.rows);
  gpu.row_moments(view, out.as<RowMoments>());
  return downloaded<RowMoments>(gpu, out);
}

}  // namespace

TEST_CASE(
    "cuda row_moments: the CPU's bits for every dtype, rule, width, shard and alignment, bad rows too") {
  const auto gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  int views = 0;
  for_every_view(*gpu, true, [&](const LogitsView& host, const LogitsView& device, const std::string& note) {
    ++views;
    INFO(note);
    CHECK(same_bits(on_gpu(*gpu, device), on_cpu(host)));
  });
  CHECK(views == 4 * 5 * 4 * 4 * 6);
}

TEST_CASE("cuda row_moments: a large vocabulary in one row, the CPU's bits") {
  const auto gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  const std::int64_t vocab = 151669;
  for (const Dtype stored : {Dtype::BF16, Dtype::F32}) {
    const StoredRows host(stored, varied_rows(vocab, 31, true), 152064, 0);
    const GpuRows device(*gpu, host, 0);
    for (const Range columns : {Range{0, 152064}, Range{50001, 100003}}) {
      LogitsView view = host.view(columns);
      INFO(name(stored) << " from " << columns.begin);
      CHECK(same_bits(on_gpu(*gpu, device(view)), on_cpu(view)));
      view.rule.temperature = 0.7f;
      CHECK(same_bits(on_gpu(*gpu, device(view)), on_cpu(view)));
    }
  }
}

TEST_CASE("cuda row_moments: the lowest of equal columns, wherever they are, for all threads") {
  const auto gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  const std::int64_t vocab = 1501;
  Rows rows;
  for (std::size_t first = 0; first < 1501; first += 37) {
    rows.emplace_back(static_cast<std::size_t>(vocab), -2.0f);
    for (std::size_t c = first; c < 1501; c += 7) rows.back()[c] = 5.0f;
  }
  rows.emplace_back(static_cast<std::size_t>(vocab), 0.0f);
  const StoredRows host(Dtype::BF16, rows, vocab, 0);
  const GpuRows device(*gpu, host, 0);
  const std::vector<RowMoments> got = on_gpu(*gpu, device(host.view()));
  for (std::size_t r = 0; r + 1 < got.size(); ++r) CHECK(got[r].argmax == static_cast<std::int64_t>(37 * r));
  CHECK(got.back().argmax == 0);
  CHECK(got.back().sum == static_cast<double>(vocab));
  CHECK(same_bits(got, on_cpu(host.view())));
}

TEST_CASE("cuda row_moments: rows of a small dump, for the race checker") {
  const auto gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  const StoredRows host(Dtype::BF16, varied_rows(2050, 3, true), 2055, 0);
  const GpuRows device(*gpu, host, 0);
  CHECK(same_bits(on_gpu(*gpu, device(host.view())), on_cpu(host.view())));
  LogitsView none;
  none.columns = {0, 100};
  none.pitch = none.vocab = 100;
  gpu->row_moments(none, nullptr);  // no rows is no work and no error
}

}  // namespace drift::test
