#include "comm/nccl_collective.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <thread>

#include "backend/check.hpp"
#include "backend/devices.hpp"
#include "comm/nccl_check.hpp"

namespace drift {
namespace {

using Clock = std::chrono::steady_clock;

// Calls `done` until it is true. Busy at first, because most waits are shorter than a sleep.
template <class Done>
void poll_until(Control& tp, const char* doing, double seconds, Done done) {
  const Clock::time_point begin = Clock::now();
  const auto deadline =
      begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  Clock::time_point next_poll = begin + std::chrono::microseconds(100);
  while (!done()) {
    const Clock::time_point now = Clock::now();
    if (now < next_poll) continue;
    tp.poll();
    if (now > deadline)
      throw Error(Fault::timeout, std::string("the deadline passed while ") + doing +
                                      " (another rank may be dead or stuck), waited " +
                                      std::to_string(seconds) + " s; --collective-timeout sets it");
    if (now - begin > std::chrono::milliseconds(2))
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    next_poll = Clock::now() + std::chrono::microseconds(100);
  }
}

}  // namespace

NcclCollective::NcclCollective(CudaBackend& on, Control& tp, double timeout_seconds)
    : on_(on),
      tp_(tp),
      timeout_seconds_(timeout_seconds),
      rank_(tp.rank()),
      size_(tp.size()),
      exceptions_at_birth_(std::uncaught_exceptions()) {
  // The destructor does not run for an object whose constructor throws, which is right: a communicator that
  // did not come up with all its ranks can neither be finalized nor aborted without the risk of waiting for
  // them.
  connect();
}

void NcclCollective::connect() {
  check(cudaSetDevice(on_.device()), "selecting it");
  ncclUniqueId id{};
  if (rank_ == 0) check(ncclGetUniqueId(&id), nullptr, "making a communicator's id");
  const std::vector<std::byte> bytes = tp_.broadcast(std::as_bytes(std::span(&id, 1)));
  require(bytes.size() == sizeof(id), Fault::comm,
          "a communicator's id has the wrong length (ranks use different builds of NCCL), seen " +
              std::to_string(bytes.size()) + " bytes, wanted " + std::to_string(sizeof(id)));
  std::memcpy(&id, bytes.data(), sizeof(id));

  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  check(ncclCommInitRankConfig(&comm_, size_, id, rank_, &config), comm_, "starting a communicator");
  wait_for_comm("starting a communicator", timeout_seconds_);
}

NcclCollective::~NcclCollective() {
  // Finalize and destroy are collective: not while an error unwinds, when peers may never come, and no abort
  // either, which can wait for a peer just as well. The process ends soon after.
  if (broken_ || std::uncaught_exceptions() > exceptions_at_birth_) return;
  if (close()) static_cast<void>(ncclCommDestroy(comm_));
}

bool NcclCollective::close() noexcept {
  try {
    check(ncclCommFinalize(comm_), comm_, "ending a communicator");
    wait_for_comm("ending a communicator", std::min(timeout_seconds_, 10.0));
    return true;
  } catch (...) {  // results are complete by now: a communicator that does not end is left behind
    return false;
  }
}

void NcclCollective::wait_for_comm(const char* doing, double seconds) {
  poll_until(tp_, doing, seconds, [&] {
    ncclResult_t state = ncclSuccess;
    check(ncclCommGetAsyncError(comm_, &state), comm_, doing);
    check(state, comm_, doing);
    return state != ncclInProgress;
  });
}

void NcclCollective::wait_for_stream(const char* doing) {
  wait_for_comm(doing, timeout_seconds_);  // until then the kernel need not even be queued
  poll_until(tp_, doing, timeout_seconds_, [&] {
    const cudaError_t status = cudaStreamQuery(on_.stream());
    if (status != cudaErrorNotReady) {
      check(status, doing);
      return true;
    }
    ncclResult_t state = ncclSuccess;
    check(ncclCommGetAsyncError(comm_, &state), comm_, doing);
    check(state, comm_, doing);
    return false;
  });
}

void NcclCollective::all_gather(const void* mine, void* all, std::int64_t bytes) {
  if (bytes == 0) return;
  broken_ = true;  // until it is known to have ended well
  check(ncclAllGather(mine, all, static_cast<std::size_t>(bytes), ncclUint8, comm_, on_.stream()), comm_,
        "gathering over TP ranks");
  wait_for_stream("gathering over TP ranks");
  broken_ = false;
}

void NcclCollective::all_reduce(float* values, std::int64_t count, Reduce op) {
  if (count == 0) return;
  broken_ = true;
  check(ncclAllReduce(values, values, static_cast<std::size_t>(count), ncclFloat32,
                      op == Reduce::max ? ncclMax : ncclSum, comm_, on_.stream()),
        comm_, "reducing over TP ranks");
  wait_for_stream("reducing over TP ranks");
  broken_ = false;
}

bool nccl_built() { return true; }

std::string nccl_version() {
  int code = 0;
  if (ncclGetVersion(&code) != ncclSuccess) return "unknown";
  return std::to_string(code / 10000) + "." + std::to_string(code / 100 % 100) + "." +
         std::to_string(code % 100);
}

std::unique_ptr<Collective> make_nccl_collective(Backend& on, Control& tp, double timeout_seconds) {
  auto* cuda = dynamic_cast<CudaBackend*>(&on);
  require(cuda != nullptr, Fault::internal,
          "nccl moves device memory, seen the backend " + on.name() + ", wanted cuda");
  return std::make_unique<NcclCollective>(*cuda, tp, timeout_seconds);
}

}  // namespace drift
