#pragma once

// Logits from file to a backend's memory in bounded chunks: one thread reads and copies the next chunk while
// the caller computes on this one. Memory: two chunks in host memory, two in the backend's.

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "audit/kept_rows.hpp"
#include "backend/backend.hpp"
#include "base/digest.hpp"
#include "base/range.hpp"
#include "dump/columns.hpp"
#include "topology/shard.hpp"

namespace drift {

class ChunkFeed {
 public:
  struct Chunk {
    std::int64_t first = 0;             ///< position of its first row among all rows of the feed
    std::vector<Range> rows;            ///< row numbers in the dump
    std::int64_t count = 0;             ///< rows in it
    const std::byte* logits = nullptr;  ///< in the backend's memory
    const std::byte* host = nullptr;    ///< the same bytes in host memory
    std::int64_t pitch = 0;             ///< elements from one row to the next
  };

  struct Request {
    std::vector<Range> rows;  ///< of the flattened dump
    Range columns;            ///< of the padded vocabulary
    std::int64_t rows_per_chunk = 1;
    std::vector<Digest>* row_digests = nullptr;  ///< if set: one digest a row of the feed, of the bytes read
    std::span<const float> temperature =
        {};                          ///< if set: one a dump row; a chunk holds rows of one temperature only
    const KeptRows* kept = nullptr;  ///< if set: what rows do not keep becomes -inf on the way
  };

  ChunkFeed(const DumpFile& dump, const Roles& roles, Backend& on, Request request);
  ~ChunkFeed();
  ChunkFeed(const ChunkFeed&) = delete;
  ChunkFeed& operator=(const ChunkFeed&) = delete;

  /// The next chunk, valid until the next call; empty at the end. Rethrows what reading threw.
  std::optional<Chunk> next();

  std::int64_t bytes_read() const { return bytes_read_; }

 private:
  struct Slot {
    Buffer host, device;
    Chunk chunk;
    bool full = false;
  };

  void read_all();
  std::int64_t end_of_chunk(std::int64_t begin) const;
  void fill(Slot& slot, Range positions);

  const DumpFile& dump_;
  const Roles& roles_;
  Backend& on_;
  Request request_;
  std::vector<std::int64_t> numbers_;  ///< of the feed's rows in the dump
  std::int64_t total_ = 0, pitch_ = 0;
  Slot slots_[2];
  int next_slot_ = 0;
  bool holding_ = false, ended_ = false, stop_ = false;
  std::exception_ptr failure_;
  std::atomic<std::int64_t> bytes_read_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread reader_;
};

}  // namespace drift
