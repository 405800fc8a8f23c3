#include "comm/mpi/mpi_world.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <string>

#include "comm/agree.hpp"
#include "comm/mpi/mpi_check.hpp"

namespace drift::mpi {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double grace_seconds =
    1;  // for an agreement after a timeout: the silent peer is not going to answer

/// Gives the processor away: at once at first, so that small messages take microseconds, then for up to 1 ms,
/// so that ranks that share a core get it. Sleeps grow with the time waited: a wait gets at most about a
/// tenth longer.
void back_off(Clock::duration waited) {
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(waited).count();
  if (nanoseconds < 100'000) {
    sched_yield();
    return;
  }
  const timespec nap{.tv_sec = 0, .tv_nsec = std::min<long>(static_cast<long>(nanoseconds / 10), 1'000'000)};
  nanosleep(&nap, nullptr);
}

MPI_Comm duplicate_of_world() {
  MPI_Comm out = MPI_COMM_NULL;
  check(MPI_Comm_dup(MPI_COMM_WORLD, &out));
  check(MPI_Comm_set_errhandler(out, MPI_ERRORS_RETURN));
  return out;
}

std::string seconds_text(double seconds) {
  std::string text = std::to_string(seconds);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + " s";
}

}  // namespace

MpiWorld::MpiWorld(double timeout_seconds) : timeout_seconds_(timeout_seconds) {
  check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  data_ = duplicate_of_world();
  status_ = duplicate_of_world();
  alarm_ = duplicate_of_world();
  check(MPI_Comm_rank(data_, &rank_));
  check(MPI_Comm_size(data_, &size_));
}

void MpiWorld::free() {
  for (MPI_Comm* comm : {&data_, &status_, &alarm_}) check(MPI_Comm_free(comm));
}

void MpiWorld::take_tag(int tag) {
  require(tag < last_tag, Fault::internal,
          "too many groups of ranks were made (each needs a tag of its own), wanted fewer than " +
              std::to_string(last_tag));
  newest_tag_ = std::max(newest_tag_, tag);
}

void MpiWorld::post(Transfer& transfer, int code, Transfer::Message message) {
  if (code != MPI_SUCCESS) {
    transfer.requests.pop_back();
    abandoned_.push_back(std::move(transfer));
    transfer = Transfer();
    poisoned_ = true;
    check(code);
  }
  transfer.messages.push_back(message);
}

void MpiWorld::send(Transfer& transfer, Traffic traffic, int peer, int tag, const std::byte* data,
                    std::int64_t bytes) {
  transfer.requests.push_back(MPI_REQUEST_NULL);
  const int code =
      MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, peer, tag, of(traffic), &transfer.requests.back());
  post(transfer, code, {peer, false, bytes});
}

void MpiWorld::receive(Transfer& transfer, Traffic traffic, int peer, int tag, std::byte* data,
                       std::int64_t bytes) {
  transfer.requests.push_back(MPI_REQUEST_NULL);
  const int code =
      MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, peer, tag, of(traffic), &transfer.requests.back());
  post(transfer, code, {peer, true, bytes});
}

bool MpiWorld::progress(Transfer& transfer) {
  const std::size_t count = transfer.requests.size();
  transfer.finished.resize(count);
  transfer.states.resize(count);
  int done = 0;
  const int code = MPI_Testsome(static_cast<int>(count), transfer.requests.data(), &done,
                                transfer.finished.data(), transfer.states.data());
  if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) check(code);
  if (done == MPI_UNDEFINED) return true;
  for (int i = 0; i < done; ++i) {
    const MPI_Status& state = transfer.states[static_cast<std::size_t>(i)];
    if (code == MPI_ERR_IN_STATUS) check(state.MPI_ERROR);
    const Transfer::Message& message =
        transfer.messages[static_cast<std::size_t>(transfer.finished[static_cast<std::size_t>(i)])];
    if (!message.receives) continue;
    int bytes = 0;
    check(MPI_Get_count(&state, MPI_BYTE, &bytes));
    require(bytes == message.bytes, Fault::internal,
            "ranks disagree about a message's size (they are not in the same call), seen " +
                std::to_string(bytes) + " bytes from rank " + std::to_string(message.peer) + ", wanted " +
                std::to_string(message.bytes));
  }
  return std::all_of(transfer.requests.begin(), transfer.requests.end(),
                     [](MPI_Request request) { return request == MPI_REQUEST_NULL; });
}

void MpiWorld::look_for_alarm() {
  int there = 1;
  while (there) {
    MPI_Status state;
    check(MPI_Iprobe(MPI_ANY_SOURCE, 0, alarm_, &there, &state));
    if (!there) return;
    std::int32_t word = 0;
    check(MPI_Recv(&word, 1, MPI_INT32_T, state.MPI_SOURCE, 0, alarm_,
                   MPI_STATUS_IGNORE));  // it is here: no wait
    alarmed_ = true;
    if (word != 0) expired_ = true;
  }
}

void MpiWorld::poll() {
  look_for_alarm();
  if (alarmed_) throw Interrupted();
  require(!broken_, Fault::comm, "ranks have lost each other (an earlier agreement failed)");
}

void MpiWorld::alarm(bool timed_out) noexcept {
  alarmed_ = true;
  expired_ = expired_ || timed_out;
  alarm_word_ = expired_ ? 1 : 0;
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    // A failure to warn one peer is no reason not to warn the next; whoever missed it has a deadline.
    MPI_Request request = MPI_REQUEST_NULL;
    if (MPI_Isend(&alarm_word_, 1, MPI_INT32_T, peer, 0, alarm_, &request) == MPI_SUCCESS)
      MPI_Request_free(&request);
  }
}

void MpiWorld::give_up(Transfer& transfer, Traffic traffic, double seconds, std::string_view what) {
  expired_ = true;
  std::vector<int> silent;
  for (std::size_t i = 0; i < transfer.requests.size(); ++i)
    if (transfer.requests[i] != MPI_REQUEST_NULL) silent.push_back(transfer.messages[i].peer);
  std::sort(silent.begin(), silent.end());
  silent.erase(std::unique(silent.begin(), silent.end()), silent.end());
  std::string ranks;
  for (const int peer : silent) ranks += (ranks.empty() ? "" : ", ") + std::to_string(peer);
  throw Error(Fault::timeout,
              std::string(traffic == Traffic::status ? "an agreement" : "an exchange") + " of ranks (" +
                  std::string(what) + ") did not end: rank(s) that did not answer: " + ranks + ", after " +
                  seconds_text(seconds) +
                  " without progress; they are dead, stuck, or need a longer --collective-timeout");
}

void MpiWorld::wait(Transfer& transfer, Traffic traffic, double seconds, std::string_view what) {
  try {
    const Clock::time_point start = Clock::now();
    while (!progress(transfer)) {
      look_for_alarm();
      if (alarmed_ && traffic == Traffic::data) throw Interrupted();
      if (expired_ && traffic == Traffic::status) {
        const double waited = std::chrono::duration<double>(Clock::now() - start).count();
        seconds = std::min(seconds, waited + grace_seconds);
      }
      const Clock::duration waited = Clock::now() - start;
      if (std::chrono::duration<double>(waited).count() > seconds) give_up(transfer, traffic, seconds, what);
      back_off(waited);
    }
    transfer.requests.clear();
    transfer.messages.clear();
  } catch (...) {
    if (traffic == Traffic::status) broken_ = true;
    poisoned_ = true;
    abandoned_.push_back(std::move(transfer));
    transfer = Transfer();
    throw;
  }
}

}  // namespace drift::mpi
