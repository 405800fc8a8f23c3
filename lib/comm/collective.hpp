#pragma once

// Collective moves a formula's tensors over the TP axis, in one backend's memory. Solo, staged through the
// host, or NCCL.

#include <cstdint>
#include <memory>
#include <string_view>

#include "backend/backend.hpp"
#include "comm/control.hpp"

namespace drift {

enum class Reduce { max, sum };

class Collective {
 public:
  virtual ~Collective() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string_view transport() const = 0;  ///< "solo", "mpi" or "nccl"

  /// all[i * bytes ...] = rank i's `mine`; both in backend memory. Bits are copied, never changed.
  virtual void all_gather(const void* mine, void* all, std::int64_t bytes) = 0;
  /// values[i] = op over ranks. max: exact. sum: fp32, in rank order ((r0 + r1) + r2) + ... except with nccl,
  /// where the order is NCCL's.
  virtual void all_reduce(float* values, std::int64_t count, Reduce op) = 0;
};

/// One rank: gathers copy, reductions do nothing.
std::unique_ptr<Collective> make_solo_collective(Backend& on);

/// Through host memory over `tp` (MPI, or threads in tests): transport "mpi". `on` and `tp` must outlive it.
/// Memory beside the caller's: at most 32 MiB, or `4 bytes * tp ranks * 65536` where that is more, in two
/// host buffers.
std::unique_ptr<Collective> make_staged_collective(Backend& on, Control& tp);

}  // namespace drift
