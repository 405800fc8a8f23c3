#pragma once

// Control over MPI. Point-to-point messages under a tag instead of MPI's collectives: a missing rank can be
// named, a group is made without a call that may block (MPI_Comm_split has no nonblocking form), an
// interrupted call leaves nothing behind that a later one could trip over.

#include <vector>

#include "comm/control.hpp"
#include "comm/mpi/mpi_world.hpp"

namespace drift::mpi {

class MpiControl final : public Control {
 public:
  /// `members`: world ranks, this process's own among them. `world` must outlive it.
  MpiControl(MpiWorld& world, std::vector<int> members, int tag, double timeout_seconds);

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(members_.size()); }

  void all_gather(const void* mine, void* all, std::int64_t bytes) override;
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> mine) override;
  std::vector<std::byte> broadcast(std::span<const std::byte> mine) override;
  std::unique_ptr<Control> split(int color, int key) override;
  void poll() override { world_.poll(); }
  void set_timeout(double seconds) override { timeout_seconds_ = seconds; }
  void alarm(bool timed_out) noexcept override { world_.alarm(timed_out); }
  void all_gather_status(const void* mine, void* all, std::int64_t bytes) override;

  /// Like all_gather_status, with its own deadline and a tag that no phase uses. Returns the largest of all
  /// ranks' `mine`.
  std::int64_t last_barrier(double seconds, std::int64_t mine);

 private:
  /// One round: everybody's `bytes` to everybody, to all + i * pitch.
  void exchange(Transfer& transfer, Traffic traffic, const std::byte* mine, std::byte* all,
                std::int64_t bytes, std::int64_t pitch, std::string_view what);
  /// Sizes on rank 0; elsewhere, what was given.
  std::vector<std::int64_t> gather_sizes(std::int64_t mine);

  MpiWorld& world_;
  std::vector<int> members_;
  int tag_;
  int rank_ = 0;
  double timeout_seconds_;
  Transfer data_, status_;  ///< memory that is used again; status_ has its own from the start
};

}  // namespace drift::mpi
