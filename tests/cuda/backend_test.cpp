// Memory, copies and errors of the CUDA backend, and the answers of a build or machine without a GPU.

#include <chrono>
#include <thread>

#include "base/error.hpp"
#include "cuda/gpu_rows.hpp"
#include "kernels/row_max.hpp"

namespace drift::test {

TEST_CASE("devices: without a GPU the reason is a sentence and the backend refuses with it") {
  if (!visible_gpus().empty()) {
    CHECK(why_no_gpu().empty());
    CHECK_THROWS_AS(make_cuda_backend(static_cast<int>(visible_gpus().size())), Error);
    return;
  }
  CHECK_FALSE(why_no_gpu().empty());
  try {
    static_cast<void>(make_cuda_backend(0));
    FAIL("a backend was made without a GPU");
  } catch (const Error& error) {
    CHECK(error.fault() == Fault::device);
    CHECK(error.what() == why_no_gpu());
  }
}

TEST_CASE("devices: a GPU has a name, memory, and a UUID as nvidia-smi prints it") {
  const auto gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  const GpuInfo info = visible_gpus()[0];
  CHECK(info.uuid.size() == 40);
  CHECK(info.uuid.substr(0, 4) == "GPU-");
  CHECK(info.total_bytes > 0);
  CHECK(gpu->device_uuid() == info.uuid);
  CHECK(gpu->device_model() == info.name);
  CHECK(gpu->name() == "cuda");
  CHECK(gpu->native_stream() != nullptr);
}

TEST_CASE("cuda backend: running out of memory names bytes asked and free, and the backend works on") {
  const auto gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  const std::int64_t too_much = visible_gpus()[0].total_bytes * 2;
  try {
    static_cast<void>(gpu->allocate(too_much));
    FAIL("twice the GPU's memory was handed out");
  } catch (const Error& error) {
    CHECK(error.fault() == Fault::device);
    const std::string message = error.what();
    CHECK(message.find(std::to_string(too_much)) != std::string::npos);
    CHECK(message.find("free") != std::string::npos);
  }
  const std::vector<std::int64_t> numbers{1, 2, 3};
  CHECK(downloaded<std::int64_t>(*gpu, uploaded(*gpu, numbers)) == numbers);
}

TEST_CASE(
    "cuda backend: chunks copied by another thread are whole while kernels run, also into reused memory") {
  const auto gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  const std::int64_t rows = 64, columns = 50000, chunks = 24;
  const std::int64_t bytes = rows * columns * 4;
  Buffer host[2] = {gpu->allocate_host(bytes), gpu->allocate_host(bytes)};
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    Buffer& pinned = host[chunk % 2];
    for (std::int64_t i = 0; i < rows * columns; ++i) pinned.as<float>()[i] = static_cast<float>(chunk);
    Buffer device =
        gpu->allocate(bytes);  // from the second round on: a block that kernels may still be reading
    const std::byte* resident = nullptr;
    std::thread reader([&] { resident = gpu->make_resident(pinned, bytes, device); });
    reader.join();
    REQUIRE(resident == device.data());
    LogitsView view;
    view.data = resident;
    view.rows = rows;
    view.pitch = view.vocab = columns;
    view.columns = {0, columns};
    Buffer max = poisoned<float>(*gpu, rows);
    gpu->row_max(view, max.as<float>());
    gpu->row_max(view, max.as<float>());
    for (const float value : downloaded<float>(*gpu, max)) CHECK(value == static_cast<float>(chunk));
    gpu->row_max(view, max.as<float>());  // still queued when `device` goes back
  }
}

TEST_CASE("cuda backend: copy within the device, and buffers of no bytes") {
  const auto gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  const std::vector<float> numbers{3.5f, -1.0f, 7.0f};
  const Buffer from = uploaded(*gpu, numbers);
  Buffer to = poisoned<float>(*gpu, 3);
  gpu->copy(from.data(), to.data(), 12);
  CHECK(downloaded<float>(*gpu, to) == numbers);
  Buffer none = gpu->allocate(0);
  gpu->upload(nullptr, none.data(), 0);
  gpu->download(none.data(), nullptr, 0);
  gpu->copy(none.data(), none.data(), 0);
}

TEST_CASE("cuda backend: more plans than it remembers still give the right sums") {
  const auto gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  const std::int64_t vocab = 5000;
  const StoredRows host(Dtype::BF16, varied_rows(vocab, 41), vocab, 0);
  const GpuRows device(*gpu, host, 0);
  for (int round = 0; round < 2; ++round)
    for (std::int64_t begin = 0; begin < 40; ++begin) {
      const LogitsView view = host.view({begin, vocab});
      const TreePlan plan = make_tree_plan(view.columns, vocab);
      const auto slots = static_cast<std::int64_t>(plan.subtrees.size());
      std::vector<TreeValue> wanted(static_cast<std::size_t>(view.rows * slots));
      cpu::tree_sum(view, plan, slots, wanted.data());
      Buffer out = poisoned<TreeValue>(*gpu, view.rows * slots);
      gpu->tree_sum(device(view), plan, slots, out.as<TreeValue>());
      CHECK(same_bits(downloaded<TreeValue>(*gpu, out), wanted));
    }
}

}  // namespace drift::test
