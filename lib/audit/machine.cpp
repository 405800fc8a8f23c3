#include "audit/machine.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "backend/cpu_backend.hpp"
#include "base/error.hpp"

namespace drift {
namespace {

template <class T>
std::vector<T> gathered(Control& world, T mine) {
  std::vector<T> all(static_cast<std::size_t>(world.size()));
  world.all_gather(&mine, all.data(), sizeof(T));
  return all;
}

/// Do two ranks hold the same GPU?
bool gpus_are_shared(const Backend& on, Control& world) {
  const auto all = gathered(world, digest(std::string_view(on.device_uuid())));
  return std::set<Digest>(all.begin(), all.end()).size() < all.size();
}

bool nccl_may_share(const Machinery& machinery) {
  return std::find(machinery.environment.begin(), machinery.environment.end(),
                   "NCCL_MULTI_RANK_GPU_ENABLE=1") != machinery.environment.end();
}

}  // namespace

std::string choose_backend(const std::string& requested, const Machinery& machinery, Control& world) {
  if (requested == "cpu") return "cpu";
  const std::vector<int> gpus = gathered(world, machinery.gpu_count());
  const auto without = std::find(gpus.begin(), gpus.end(), 0);
  if (without == gpus.end()) return "cuda";
  const bool nowhere = std::all_of(gpus.begin(), gpus.end(), [](int count) { return count == 0; });
  if (requested == "auto" && nowhere) return "cpu";
  const std::string why = machinery.why_no_gpu();
  throw Error(Fault::device,
              (nowhere ? "no rank sees a GPU"
                       : "rank " + std::to_string(without - gpus.begin()) +
                             " sees no GPU while others do (one audit runs on one kind of hardware)") +
                  (why.empty() ? "" : ": " + why) + "; --backend cpu audits on CPUs");
}

std::unique_ptr<Backend> make_backend(const std::string& chosen, const Machinery& machinery, Control& world) {
  if (chosen == "cpu") return make_cpu_backend();
  const int local = local_rank(world);
  return machinery.make_cuda(local % machinery.gpu_count());
}

std::string choose_transport(const std::string& requested, const Backend& on, const Machinery& machinery,
                             const Grid& grid, Control& world) {
  if (requested == "mpi") return "mpi";
  if (requested == "auto" && grid.tp == 1) return "solo";
  if (on.host_memory()) {
    require(requested != "nccl", Fault::usage,
            "--transport nccl moves GPU memory (this run computes on CPUs): use --transport mpi, or "
            "--backend cuda");
    return "mpi";
  }
  const bool shared = gpus_are_shared(on, world);
  if (requested == "auto") return !shared && machinery.nccl_built ? "nccl" : "mpi";
  require(!shared || nccl_may_share(machinery), Fault::device,
          "--transport nccl wants a GPU for each rank (NCCL refuses to share one): " +
              std::to_string(world.size()) +
              " ranks hold the same GPU in part; use --transport mpi, or NCCL >= 2.30 with "
              "NCCL_MULTI_RANK_GPU_ENABLE=1");
  return "nccl";
}

std::unique_ptr<Collective> make_collective(const std::string& chosen, Backend& on, Control& tp,
                                            const Machinery& machinery) {
  if (chosen == "solo") return make_solo_collective(on);
  if (chosen == "nccl") return machinery.make_nccl(on, tp);
  return make_staged_collective(on, tp);
}

}  // namespace drift
