// Speed of the GPU kernels beside a read of the same bytes, measured in the same run: [8192, 152064] logits,
// CUDA events, median of 11 after 3. Usage: drift_bench_gpu [rows [columns]]

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "backend/cuda_backend.hpp"
#include "backend/devices.hpp"
#include "topology/shard.hpp"

namespace {

using namespace drift;

/// Reads everything, keeps nothing: what memory allows.
__global__ void __launch_bounds__(256, 4)
    read_all(const uint4* data, std::int64_t vectors, std::uint32_t* out) {
  std::uint32_t seen = 0;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i + 7 * step < vectors; i += 8 * step) {
    uint4 v[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) v[j] = __ldcs(data + i + j * step);
#pragma unroll
    for (int j = 0; j < 8; ++j) seen ^= v[j].x ^ v[j].y ^ v[j].z ^ v[j].w;
  }
  for (; i < vectors; i += step) {
    const uint4 v = __ldcs(data + i);
    seen ^= v.x ^ v.y ^ v.z ^ v.w;
  }
  if (seen == 0x12345678u) *out = seen;
}

/// Bell-shaped logits with a spread of about 4, made from the index.
template <Dtype dtype>
__global__ void fill(std::byte* data, std::int64_t count, bool masked) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step) {
    std::uint64_t z = static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    const auto sum =
        static_cast<int>((z & 0xffff) + ((z >> 16) & 0xffff) + ((z >> 32) & 0xffff) + (z >> 48)) - 131070;
    const float x = masked && z % 16 == 0 ? -INFINITY : static_cast<float>(sum) * 0x1p-14f;
    if constexpr (dtype == Dtype::F32)
      reinterpret_cast<float*>(data)[i] = x;
    else
      reinterpret_cast<std::uint16_t*>(data)[i] = dtype == Dtype::BF16 ? round_bf16(x) : round_f16(x);
  }
}

class Bench {
 public:
  Bench(CudaBackend& gpu, std::int64_t rows, std::int64_t columns)
      : gpu_(gpu), rows_(rows), columns_(columns) {
    check(cudaEventCreate(&begin_), "timing");
    check(cudaEventCreate(&end_), "timing");
    std::vector<std::int64_t> targets(static_cast<std::size_t>(rows)), index(targets);
    for (std::int64_t r = 0; r < rows; ++r) {
      targets[static_cast<std::size_t>(r)] = r * 7919 % columns;
      index[static_cast<std::size_t>(r)] = r;
    }
    targets_ = gpu.allocate(rows * 8);
    index_ = gpu.allocate(rows * 8);
    gpu.upload(targets.data(), targets_.data(), rows * 8);
    gpu.upload(index.data(), index_.data(), rows * 8);
    for (Buffer* b : {&a_, &b_, &c_, &d_}) *b = gpu.allocate(rows * 4);
  }

  template <Dtype dtype>
  void measure(const char* label) {
    const std::int64_t element = dtype == Dtype::F32 ? 4 : 2, bytes = rows_ * columns_ * element;
    Buffer data = gpu_.allocate(bytes);
    const auto refill = [&](bool masked) {
      fill<dtype><<<2048, 256, 0, gpu_.stream()>>>(data.data(), rows_ * columns_, masked);
    };
    refill(false);
    LogitsView view;
    view.data = data.data();
    view.rows = rows_;
    view.pitch = view.vocab = columns_;
    view.columns = {0, columns_};
    view.rule.stored = view.rule.candidate = dtype;

    std::printf("\n%s [%lld, %lld], %.3f GB\n", label, static_cast<long long>(rows_),
                static_cast<long long>(columns_), static_cast<double>(bytes) / 1e9);
    int multiprocessors = 0;
    check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, gpu_.device()), "timing");
    ceiling_ = 0;
    ceiling_ = time("read only (the ceiling)", bytes, [&] {
      read_all<<<static_cast<unsigned>(multiprocessors) * 4, 256, 0, gpu_.stream()>>>(
          reinterpret_cast<const uint4*>(data.data()), bytes / 16, a_.as<std::uint32_t>());
    });

    tree("tree_sum", view);
    LogitsView shard = view;
    const Range quarter = even_part(columns_, 4, 1);
    shard.columns = quarter;
    shard.data = data.data() + quarter.begin * element;
    tree("tree_sum, quarter of the columns", shard);
    shard.columns = {columns_ / 4 + 1, columns_ / 2 + 3};
    shard.data = data.data() + shard.columns.begin * element;
    tree("tree_sum, columns cut at odd places", shard);
    LogitsView divided = view;
    divided.rule.temperature = 0.7f;
    tree("tree_sum, T = 0.7", divided);
    divided.rule.order = TemperatureOrder::reciprocal;
    tree("tree_sum, T = 0.7 by reciprocal", divided);
    divided.rule.order = TemperatureOrder::f32;

    time("row_max", bytes, [&] { gpu_.row_max(view, a_.as<float>()); });
    time("row_sum_exp", bytes, [&] { gpu_.row_sum_exp(view, a_.as<float>(), b_.as<float>()); });
    Buffer census = gpu_.allocate(rows_ * static_cast<std::int64_t>(sizeof(RowCensus)));
    time("row_census", bytes,
         [&] { gpu_.row_census(view, targets_.as<std::int64_t>(), census.as<RowCensus>()); });
    {
      Buffer moments = gpu_.allocate(rows_ * static_cast<std::int64_t>(sizeof(RowMoments)));
      time("row_moments", bytes, [&] { gpu_.row_moments(view, moments.as<RowMoments>()); });
      time("row_moments, T = 0.7", bytes, [&] { gpu_.row_moments(divided, moments.as<RowMoments>()); });
    }
    {
      Buffer values = gpu_.allocate(rows_ * columns_ * 4);
      time("pack_values (and 4 bytes written)", bytes + rows_ * columns_ * 4,
           [&] { gpu_.pack_values(view, columns_, values.as<float>()); });
      if constexpr (dtype == Dtype::F32)
        time("torch_log_softmax (read twice)", 2 * bytes, [&] {
          gpu_.torch_log_softmax(values.as<float>(), rows_, columns_, index_.as<std::int64_t>(),
                                 targets_.as<std::int64_t>(), {c_.as<float>(), d_.as<float>()});
        });
    }
    refill(true);
    tree("tree_sum, one column in 16 masked", view);
  }

  void copies() {
    const std::int64_t bytes = std::int64_t{1} << 28;
    Buffer host = gpu_.allocate_host(bytes), device = gpu_.allocate(bytes);
    std::fill_n(host.data(), bytes, std::byte{1});
    std::printf("\nhost to GPU, pinned, %.3f GB\n", static_cast<double>(bytes) / 1e9);
    ceiling_ = 0;
    time("upload", bytes, [&] { gpu_.upload(host.data(), device.data(), bytes); });
  }

 private:
  void tree(const char* label, const LogitsView& view) {
    const TreePlan plan = make_tree_plan(view.columns, view.vocab);
    const auto slots = std::max<std::int64_t>(1, static_cast<std::int64_t>(plan.subtrees.size()));
    Buffer out = gpu_.allocate(rows_ * slots * 8);
    time(label, rows_ * view.columns.size() * view.bytes_per_element(),
         [&] { gpu_.tree_sum(view, plan, slots, out.as<TreeValue>()); });
  }

  double time(const std::string& label, std::int64_t bytes, const std::function<void()>& work) {
    std::vector<float> times;
    for (int i = 0; i < 14; ++i) {
      check(cudaEventRecord(begin_, gpu_.stream()), "timing");
      work();
      check(cudaEventRecord(end_, gpu_.stream()), "timing");
      check(cudaEventSynchronize(end_), "timing");
      float milliseconds = 0;
      check(cudaEventElapsedTime(&milliseconds, begin_, end_), "timing");
      if (i >= 3) times.push_back(milliseconds);
    }
    std::sort(times.begin(), times.end());
    const double median = static_cast<double>(times[times.size() / 2]);
    const double speed = static_cast<double>(bytes) / median / 1e9;
    std::printf("%-38s %9.3f ms %7.3f TB/s", label.c_str(), median, speed);
    if (ceiling_ > 0) std::printf("  %.2f of the read", speed / ceiling_);
    std::printf("\n");
    return speed;
  }

  CudaBackend& gpu_;
  std::int64_t rows_, columns_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  Buffer targets_, index_, a_, b_, c_, d_;
  double ceiling_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    if (visible_gpus().empty()) {
      std::printf("SKIPPED: %s\n", why_no_gpu().c_str());
      return 0;
    }
    const std::int64_t rows = argc > 1 ? std::atoll(argv[1]) : 8192,
                       columns = argc > 2 ? std::atoll(argv[2]) : 152064;
    CudaBackend gpu(0);
    std::printf("%s\n", gpu.device_model().c_str());
    {
      Bench bench(gpu, rows, columns);
      bench.measure<Dtype::BF16>("BF16");
      bench.measure<Dtype::F16>("F16");
      bench.measure<Dtype::F32>("F32");
      bench.copies();
    }
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.exit_code();
  }
}
