// The nccl transport, on as many GPUs as there are.

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "backend/devices.hpp"
#include "base/error.hpp"
#include "comm/agree.hpp"
#include "comm/solo.hpp"
#include "cuda/gpu_rows.hpp"
#include "support/thread_world.hpp"

namespace drift::test {
namespace {

/// Gathers and reduces what depends on the rank, and checks every value.
void exchange(Backend& gpu, Control& tp) {
  const auto nccl = make_nccl_collective(gpu, tp, 60);
  const int rank = tp.rank(), size = tp.size();
  if (nccl->transport() != "nccl" || nccl->rank() != rank || nccl->size() != size)
    throw Error(Fault::internal, "the collective does not know its place");
  for (const std::int64_t count : {1, 5, 4096, 100003}) {
    std::vector<float> mine(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < mine.size(); ++i)
      mine[i] = static_cast<float>(rank) + static_cast<float>(i) * 0x1p-10f;
    const Buffer device = uploaded(gpu, mine);
    Buffer all = poisoned<float>(gpu, count * size);
    nccl->all_gather(device.data(), all.data(), count * 4);
    Buffer max = uploaded(gpu, mine), sum = uploaded(gpu, mine);
    nccl->all_reduce(max.as<float>(), count, Reduce::max);
    nccl->all_reduce(sum.as<float>(), count, Reduce::sum);
    const std::vector<float> gathered = downloaded<float>(gpu, all), maxima = downloaded<float>(gpu, max),
                             sums = downloaded<float>(gpu, sum);
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const float base = static_cast<float>(i) * 0x1p-10f;
      double total = 0;
      for (int r = 0; r < size; ++r) {
        total += static_cast<double>(static_cast<float>(r) + base);
        require(gathered[static_cast<std::size_t>(r) * mine.size() + i] == static_cast<float>(r) + base,
                Fault::internal, "all_gather changed a value");
      }
      require(maxima[i] == static_cast<float>(size - 1) + base, Fault::internal, "all_reduce max is wrong");
      require(std::abs(static_cast<double>(sums[i]) - total) <= total * size * 0x1p-24, Fault::internal,
              "all_reduce sum is wrong");
    }
  }
  nccl->all_gather(nullptr, nullptr, 0);
  nccl->all_reduce(nullptr, 0, Reduce::sum);
}

/// Rank 0 of 2, whose peer never comes.
class LonelyControl final : public Control {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  void all_gather(const void*, void*, std::int64_t) override {}
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte>) override { return {}; }
  std::vector<std::byte> broadcast(std::span<const std::byte> mine) override {
    return {mine.begin(), mine.end()};
  }
  std::unique_ptr<Control> split(int, int) override { return nullptr; }
  void poll() override {
    if (alarmed) throw Interrupted();
  }
  void set_timeout(double) override {}
  void alarm(bool) noexcept override {}
  void all_gather_status(const void*, void*, std::int64_t) override {}

  bool alarmed = false;
};

}  // namespace

TEST_CASE("nccl: a build knows whether it has it, and which version is loaded") {
  CHECK((nccl_version() != "none") == nccl_built());
  if (!nccl_built()) {
    WARN("SKIPPED: this build has no NCCL");
    const auto control = make_solo_control();
    const auto gpu = visible_gpus().empty() ? nullptr : make_cuda_backend(0);
    if (gpu != nullptr) CHECK_THROWS_AS(make_nccl_collective(*gpu, *control, 1), Error);
  }
}

TEST_CASE("nccl: one rank gathers and reduces") {
  const auto gpu = gpu_or_skip();
  if (gpu == nullptr || !nccl_built()) return;
  const auto control = make_solo_control();
  exchange(*gpu, *control);
  SUCCEED("every value was right");
}

TEST_CASE("nccl: one rank a GPU gathers and reduces") {
  const auto gpus = static_cast<int>(visible_gpus().size());
  if (gpus < 2 || !nccl_built()) {
    WARN("SKIPPED: two GPUs and NCCL are needed, seen " << gpus << " GPUs");
    return;
  }
  const ThreadWorld world(gpus);
  world.run([](Control& tp) {
    const auto gpu = make_cuda_backend(tp.rank());
    exchange(*gpu, tp);
  });
  SUCCEED("every value was right");
}

// Hidden: a communicator that never came up stays behind, with threads of NCCL's own. After a failure the
// program leaves by std::_Exit for that reason, and so do these; scripts/gpu_check.sh runs each in a process
// of its own, and sees that it ends.
[[noreturn]] void leave_as_after_a_failure() {
  std::fflush(nullptr);
  std::_Exit(0);
}

TEST_CASE("nccl: a peer that never comes is a timeout, not a hang", "[.lonely]") {
  const auto gpu = gpu_or_skip();
  if (gpu == nullptr || !nccl_built()) return;
  LonelyControl control;
  const auto begin = std::chrono::steady_clock::now();
  try {
    static_cast<void>(make_nccl_collective(*gpu, control, 2));
    FAIL("a communicator of two came up with one");
  } catch (const Error& error) {
    REQUIRE(error.fault() == Fault::timeout);
  }
  REQUIRE(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
  leave_as_after_a_failure();
}

TEST_CASE("nccl: an alarm ends a wait at once", "[.alarmed]") {
  const auto gpu = gpu_or_skip();
  if (gpu == nullptr || !nccl_built()) return;
  LonelyControl control;
  control.alarmed = true;
  const auto begin = std::chrono::steady_clock::now();
  REQUIRE_THROWS_AS(make_nccl_collective(*gpu, control, 60), Interrupted);
  REQUIRE(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
  leave_as_after_a_failure();
}

}  // namespace drift::test
