#include "audit/chunk_feed.hpp"

#include <utility>

namespace drift {
namespace {

// Long rows start at multiples of 256 bytes, so that GPU kernels can load 16 bytes at a time whatever the
// vocabulary is. Short rows stay packed: a whole chunk of them is then one read.
std::int64_t pitch_for(std::int64_t columns, std::int64_t element_bytes) {
  const std::int64_t row_bytes = columns * element_bytes;
  return row_bytes < 4096 ? columns : (row_bytes + 255) / 256 * 256 / element_bytes;
}

}  // namespace

ChunkFeed::ChunkFeed(const DumpFile& dump, const Roles& roles, Backend& on, Request request)
    : dump_(dump), roles_(roles), on_(on), request_(std::move(request)) {
  numbers_ = row_numbers(request_.rows);
  total_ = static_cast<std::int64_t>(numbers_.size());
  const std::int64_t element = bytes(roles_.logits.dtype);
  pitch_ = pitch_for(request_.columns.size(), element);
  request_.rows_per_chunk = std::max<std::int64_t>(1, std::min(request_.rows_per_chunk, total_));
  if (request_.row_digests) request_.row_digests->resize(static_cast<std::size_t>(total_));
  if (total_ == 0) return;
  const std::int64_t chunk_bytes = std::max<std::int64_t>(1, request_.rows_per_chunk * pitch_ * element);
  for (Slot& slot : slots_) {
    slot.host = on_.allocate_host(chunk_bytes);
    if (!on_.host_memory()) slot.device = on_.allocate(chunk_bytes);
  }
  reader_ = std::thread([this] { read_all(); });
}

ChunkFeed::~ChunkFeed() {
  if (!reader_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  reader_.join();
}

std::optional<ChunkFeed::Chunk> ChunkFeed::next() {
  if (total_ == 0) return std::nullopt;
  std::unique_lock lock(mutex_);
  if (holding_) {  // the caller is done with the chunk it had
    slots_[next_slot_].full = false;
    next_slot_ ^= 1;
    holding_ = false;
    changed_.notify_all();
  }
  changed_.wait(lock, [this] { return slots_[next_slot_].full || ended_; });
  if (slots_[next_slot_].full) {
    holding_ = true;
    return slots_[next_slot_].chunk;
  }
  if (failure_) std::rethrow_exception(failure_);
  return std::nullopt;
}

void ChunkFeed::read_all() {
  try {
    int at = 0;
    for (std::int64_t begin = 0, end = 0; begin < total_; begin = end, at ^= 1) {
      end = end_of_chunk(begin);
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !slots_[at].full || stop_; });
        if (stop_) return;
      }
      fill(slots_[at], {begin, end});
      {
        const std::lock_guard lock(mutex_);
        slots_[at].full = true;
      }
      changed_.notify_all();
    }
  } catch (...) {
    failure_ = std::current_exception();
  }
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
}

std::int64_t ChunkFeed::end_of_chunk(std::int64_t begin) const {
  const std::int64_t most = std::min(begin + request_.rows_per_chunk, total_);
  if (request_.temperature.empty()) return most;
  const auto temperature = [&](std::int64_t position) {
    return request_.temperature[static_cast<std::size_t>(numbers_[static_cast<std::size_t>(position)])];
  };
  std::int64_t end = begin + 1;
  while (end < most && temperature(end) == temperature(begin)) ++end;
  return end;
}

void ChunkFeed::fill(Slot& slot, Range positions) {
  const std::int64_t element = bytes(roles_.logits.dtype);
  slot.chunk.first = positions.begin;
  slot.chunk.count = positions.size();
  slot.chunk.rows = slice(request_.rows, positions);
  slot.chunk.pitch = pitch_;
  const std::int64_t chunk_bytes = positions.size() * pitch_ * element;
  if (!request_.columns.empty())
    read_logits(dump_, roles_, slot.chunk.rows, request_.columns, pitch_,
                {slot.host.data(), static_cast<std::size_t>(chunk_bytes)});
  bytes_read_ += positions.size() * request_.columns.size() * element;
  if (request_.row_digests)
    for (std::int64_t r = 0; r < positions.size(); ++r)
      (*request_.row_digests)[static_cast<std::size_t>(positions.begin + r)] =
          digest(std::span<const std::byte>(slot.host.data() + r * pitch_ * element,
                                            static_cast<std::size_t>(request_.columns.size() * element)));
  if (request_.kept)
    for (std::int64_t r = 0; r < positions.size(); ++r)
      request_.kept->apply(numbers_[static_cast<std::size_t>(positions.begin + r)], request_.columns.begin,
                           {slot.host.data() + r * pitch_ * element,
                            static_cast<std::size_t>(request_.columns.size() * element)});
  slot.chunk.host = slot.host.data();
  slot.chunk.logits = on_.make_resident(slot.host, chunk_bytes, slot.device);
}

}  // namespace drift
