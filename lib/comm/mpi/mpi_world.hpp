#pragma once

// What all groups of one process share: the communicators, the alarm, and the only loop that waits for MPI.

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <vector>

namespace drift::mpi {

/// Nonblocking point-to-point messages in flight, with the memory that they read and write. The memory
/// belongs to the transfer and not to the caller: an interrupted caller unwinds while MPI may still write
/// into it.
struct Transfer {
  struct Message {
    int peer;  ///< world rank
    bool receives;
    std::int64_t bytes;  ///< wanted, exactly
  };
  std::vector<std::byte> outgoing, incoming;
  std::vector<MPI_Request> requests;
  std::vector<Message> messages;  ///< one a request
  std::vector<int> finished;      ///< scratch of MPI_Testsome
  std::vector<MPI_Status> states;
};

constexpr int last_tag =
    32767;  ///< the largest that MPI promises: of the barrier at the end, never of a group

enum class Traffic { data, status };

class MpiWorld {
 public:
  /// Between MPI_Init and MPI_Finalize. Collective. Throws Fault::comm.
  explicit MpiWorld(double timeout_seconds);
  MpiWorld(const MpiWorld&) = delete;
  MpiWorld& operator=(const MpiWorld&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  double timeout_seconds() const { return timeout_seconds_; }

  /// Posts one message; peers are world ranks. Messages of the same peers, traffic and tag arrive in order.
  void send(Transfer& transfer, Traffic traffic, int peer, int tag, const std::byte* data,
            std::int64_t bytes);
  void receive(Transfer& transfer, Traffic traffic, int peer, int tag, std::byte* data, std::int64_t bytes);

  /// Until every message of `transfer` is done. Data: throws Interrupted once the alarm is up. Throws
  /// Fault::timeout with the silent ranks after `seconds`, Fault::comm with MPI's text. A transfer that was
  /// left is kept for ever.
  void wait(Transfer& transfer, Traffic traffic, double seconds, std::string_view what);

  /// Throws Interrupted once the alarm is up, and Fault::comm after `broken`.
  void poll();
  void alarm(bool timed_out) noexcept;

  /// Tags tell groups apart: no two groups that share two ranks have the same one.
  int newest_tag() const { return newest_tag_; }
  void take_tag(int tag);

  bool alarmed() const { return alarmed_; }
  bool broken() const { return broken_; }  ///< an agreement failed: no further one can succeed
  /// Whether MPI_Finalize may be called: nothing failed, nothing is in flight.
  bool healthy() const { return !alarmed_ && !broken_ && !poisoned_; }
  void free();  ///< the communicators; only while healthy

 private:
  MPI_Comm of(Traffic traffic) const { return traffic == Traffic::data ? data_ : status_; }
  void post(Transfer& transfer, int code, Transfer::Message message);
  bool progress(Transfer& transfer);
  void look_for_alarm();
  [[noreturn]] void give_up(Transfer& transfer, Traffic traffic, double seconds, std::string_view what);

  MPI_Comm data_ = MPI_COMM_NULL, status_ = MPI_COMM_NULL, alarm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 0;
  int newest_tag_ = 0;
  double timeout_seconds_;
  bool alarmed_ = false;
  bool expired_ = false;  ///< some rank waited until its deadline
  bool broken_ = false;
  bool poisoned_ = false;
  std::int32_t alarm_word_ = 0;     ///< what `alarm` sends: lives as long as the sends
  std::deque<Transfer> abandoned_;  ///< memory that MPI may still write into
};

}  // namespace drift::mpi
