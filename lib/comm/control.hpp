#pragma once

// Control moves bytes of host memory among ranks: agreement, unique ids, reports, host-staged tensors. MPI,
// solo or threads.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace drift {

/// A group of ranks. Calls are collective over the group unless they say otherwise, and all from one thread.
///
/// Waiting: every call polls, and throws Fault::timeout once nothing has moved for its deadline
/// (--collective-timeout), or `Interrupted` once any rank of the world has sounded the alarm: no rank's
/// failure strands another. A communication error throws Fault::comm. After any of these only `in_phase`
/// (comm/agree.hpp) may still be called on the world, with bodies that move no data.
class Control {
 public:
  virtual ~Control() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// all[i * bytes ...] = rank i's `mine`, on every rank; `bytes` is the same on every rank, and may exceed
  /// 2^31.
  virtual void all_gather(const void* mine, void* all, std::int64_t bytes) = 0;
  /// Every rank's bytes (any length), in rank order, on rank 0; empty elsewhere.
  virtual std::vector<std::vector<std::byte>> gather(std::span<const std::byte> mine) = 0;
  /// Rank 0's bytes, on every rank.
  virtual std::vector<std::byte> broadcast(std::span<const std::byte> mine) = 0;
  /// The group of ranks with the same color, ordered by key, then by rank in this group.
  virtual std::unique_ptr<Control> split(int color, int key) = 0;

  /// Not collective: throws `Interrupted` if any rank of the world has sounded the alarm. For waits that are
  /// not calls of this class (NCCL, a GPU stream).
  virtual void poll() = 0;
  /// Not collective: seconds that a call waits without progress. Groups made by `split` later inherit it.
  virtual void set_timeout(double seconds) = 0;

  /// Not collective: this rank has failed. Wakes every rank of the world that waits in a data call, on any
  /// group. `timed_out`: it had waited for a peer until its deadline.
  virtual void alarm(bool timed_out) noexcept = 0;
  /// Like all_gather over the group, but not stopped by an alarm: only `in_phase` uses it. Once any rank has
  /// timed out this one waits a second at most: the peer that was waited for is not going to answer.
  virtual void all_gather_status(const void* mine, void* all, std::int64_t bytes) = 0;

  /// Not collective, counted by `in_phase` alone: the number of the phase that begins now, from 1.
  std::uint64_t next_phase() { return ++phases_; }

 private:
  std::uint64_t phases_ = 0;
};

}  // namespace drift
