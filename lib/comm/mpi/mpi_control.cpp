#include "comm/mpi/mpi_control.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "comm/agree.hpp"

namespace drift::mpi {
namespace {

// Large payloads travel in pieces: MPI counts in int, and pieces of this size stay in the caches while they
// are copied.
constexpr std::int64_t largest_piece = std::int64_t{1} << 20;
constexpr std::int64_t smallest_piece = std::int64_t{64} << 10;
constexpr std::int64_t round_bytes = std::int64_t{16} << 20;  // of all ranks together
constexpr std::int64_t status_bytes = 1024;  // as large as in_phase's: no allocation after a failure

std::int64_t piece_bytes(int ranks) { return std::clamp(round_bytes / ranks, smallest_piece, largest_piece); }

void reserve(std::vector<std::byte>& memory, std::int64_t bytes) {
  if (memory.size() < static_cast<std::size_t>(bytes)) memory.resize(static_cast<std::size_t>(bytes));
}

void copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (bytes > 0 && to != from) std::memmove(to, from, static_cast<std::size_t>(bytes));
}

}  // namespace

MpiControl::MpiControl(MpiWorld& world, std::vector<int> members, int tag, double timeout_seconds)
    : world_(world), members_(std::move(members)), tag_(tag), timeout_seconds_(timeout_seconds) {
  rank_ = static_cast<int>(std::find(members_.begin(), members_.end(), world.rank()) - members_.begin());
  reserve(status_.outgoing, status_bytes);
  reserve(status_.incoming, status_bytes * size());
  status_.requests.reserve(2 * members_.size());
  status_.messages.reserve(2 * members_.size());
  status_.finished.reserve(2 * members_.size());
  status_.states.reserve(2 * members_.size());
}

void MpiControl::exchange(Transfer& transfer, Traffic traffic, const std::byte* mine, std::byte* all,
                          std::int64_t bytes, std::int64_t pitch, std::string_view what) {
  reserve(transfer.outgoing, bytes);
  reserve(transfer.incoming, bytes * size());
  copy_bytes(transfer.outgoing.data(), mine, bytes);
  for (int i = 1; i < size(); ++i) {  // each rank begins with its neighbour: nobody is everybody's first
    const int from = (rank_ - i + size()) % size();
    world_.receive(transfer, traffic, members_[static_cast<std::size_t>(from)], tag_,
                   transfer.incoming.data() + from * bytes, bytes);
  }
  for (int i = 1; i < size(); ++i)
    world_.send(transfer, traffic, members_[static_cast<std::size_t>((rank_ + i) % size())], tag_,
                transfer.outgoing.data(), bytes);
  copy_bytes(all + rank_ * pitch, mine, bytes);
  world_.wait(transfer, traffic, timeout_seconds_, what);
  for (int i = 0; i < size(); ++i)
    if (i != rank_) copy_bytes(all + i * pitch, transfer.incoming.data() + i * bytes, bytes);
}

void MpiControl::all_gather(const void* mine, void* all, std::int64_t bytes) {
  world_.poll();
  const auto* from = static_cast<const std::byte*>(mine);
  auto* to = static_cast<std::byte*>(all);
  std::int64_t done = 0;
  do {
    const std::int64_t piece = std::min(bytes - done, piece_bytes(size()));
    exchange(data_, Traffic::data, from + done, to + done, piece, bytes, "all_gather");
    done += piece;
  } while (done < bytes);
}

void MpiControl::all_gather_status(const void* mine, void* all, std::int64_t bytes) {
  require(!world_.broken(), Fault::comm, "ranks have lost each other (an earlier agreement failed)");
  exchange(status_, Traffic::status, static_cast<const std::byte*>(mine), static_cast<std::byte*>(all), bytes,
           bytes, "the end of a phase");
}

std::int64_t MpiControl::last_barrier(double seconds, std::int64_t mine) {
  require(!world_.broken(), Fault::comm, "ranks have lost each other (an earlier agreement failed)");
  std::memcpy(status_.outgoing.data(), &mine, sizeof mine);
  std::byte* all = status_.incoming.data();
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i] == world_.rank())
      std::memcpy(all + i * sizeof mine, &mine, sizeof mine);
    else
      world_.receive(status_, Traffic::status, members_[i], last_tag, all + i * sizeof mine, sizeof mine);
  }
  for (const int peer : members_)
    if (peer != world_.rank())
      world_.send(status_, Traffic::status, peer, last_tag, status_.outgoing.data(), sizeof mine);
  world_.wait(status_, Traffic::status, seconds, "the end of the run");
  std::vector<std::int64_t> values(members_.size());
  std::memcpy(values.data(), all, values.size() * sizeof mine);
  return *std::max_element(values.begin(), values.end());
}

std::vector<std::int64_t> MpiControl::gather_sizes(std::int64_t mine) {
  std::vector<std::int64_t> sizes(members_.size(), mine);
  reserve(data_.outgoing, sizeof mine);
  std::memcpy(data_.outgoing.data(), &mine, sizeof mine);
  reserve(data_.incoming, static_cast<std::int64_t>(sizeof mine) * size());
  for (int i = 1; i < size(); ++i)
    if (rank_ == 0)
      world_.receive(data_, Traffic::data, members_[static_cast<std::size_t>(i)], tag_,
                     data_.incoming.data() + static_cast<std::size_t>(i) * sizeof mine, sizeof mine);
  if (rank_ != 0) world_.send(data_, Traffic::data, members_[0], tag_, data_.outgoing.data(), sizeof mine);
  world_.wait(data_, Traffic::data, timeout_seconds_, "gather");
  if (rank_ == 0)
    for (std::size_t i = 1; i < sizes.size(); ++i)
      std::memcpy(&sizes[i], data_.incoming.data() + i * sizeof mine, sizeof mine);
  return sizes;
}

std::vector<std::vector<std::byte>> MpiControl::gather(std::span<const std::byte> mine) {
  world_.poll();
  const std::vector<std::int64_t> sizes = gather_sizes(static_cast<std::int64_t>(mine.size()));
  const std::int64_t piece = piece_bytes(size());
  if (rank_ != 0) {
    for (std::int64_t done = 0; done < sizes[0]; done += piece) {
      const std::int64_t bytes = std::min(piece, sizes[0] - done);
      reserve(data_.outgoing, bytes);
      copy_bytes(data_.outgoing.data(), mine.data() + done, bytes);
      world_.send(data_, Traffic::data, members_[0], tag_, data_.outgoing.data(), bytes);
      world_.wait(data_, Traffic::data, timeout_seconds_, "gather");
    }
    return {};
  }
  std::vector<std::vector<std::byte>> all;
  for (const std::int64_t bytes : sizes) all.emplace_back(static_cast<std::size_t>(bytes));
  std::copy(mine.begin(), mine.end(), all[0].begin());
  const std::int64_t longest = size() == 1 ? 0 : *std::max_element(sizes.begin() + 1, sizes.end());
  const std::int64_t slot = std::min(piece, longest);
  reserve(data_.incoming, slot * size());
  for (std::int64_t done = 0; done < longest;
       done += slot) {  // all ranks at once: none waits for another's turn
    for (std::size_t i = 1; i < all.size(); ++i)
      if (done < sizes[i])
        world_.receive(data_, Traffic::data, members_[i], tag_,
                       data_.incoming.data() + static_cast<std::int64_t>(i) * slot,
                       std::min(slot, sizes[i] - done));
    world_.wait(data_, Traffic::data, timeout_seconds_, "gather");
    for (std::size_t i = 1; i < all.size(); ++i)
      if (done < sizes[i])
        copy_bytes(all[i].data() + done, data_.incoming.data() + static_cast<std::int64_t>(i) * slot,
                   std::min(slot, sizes[i] - done));
  }
  return all;
}

std::vector<std::byte> MpiControl::broadcast(std::span<const std::byte> mine) {
  world_.poll();
  // Rank 0's bytes, this many now, to everybody; returns where they are.
  const auto round = [&](const std::byte* bytes, std::int64_t count) {
    if (rank_ == 0) {
      reserve(data_.outgoing, count);
      copy_bytes(data_.outgoing.data(), bytes, count);
      for (std::size_t i = 1; i < members_.size(); ++i)
        world_.send(data_, Traffic::data, members_[i], tag_, data_.outgoing.data(), count);
    } else {
      reserve(data_.incoming, count);
      world_.receive(data_, Traffic::data, members_[0], tag_, data_.incoming.data(), count);
    }
    world_.wait(data_, Traffic::data, timeout_seconds_, "broadcast");
    return rank_ == 0 ? bytes : data_.incoming.data();
  };
  std::int64_t total = static_cast<std::int64_t>(mine.size());
  std::memcpy(&total, round(reinterpret_cast<const std::byte*>(&total), sizeof total), sizeof total);
  std::vector<std::byte> out(static_cast<std::size_t>(total));
  for (std::int64_t done = 0; done < total; done += largest_piece) {
    const std::int64_t bytes = std::min(largest_piece, total - done);
    copy_bytes(out.data() + done, round(rank_ == 0 ? mine.data() + done : nullptr, bytes), bytes);
  }
  return out;
}

std::unique_ptr<Control> MpiControl::split(int color, int key) {
  struct Wish {
    int color, key, newest_tag;
  };
  const Wish mine{color, key, world_.newest_tag()};
  std::vector<Wish> wishes(members_.size());
  all_gather(&mine, wishes.data(), sizeof mine);
  // A tag that no member has used: groups of this call have no member in common and may share it.
  int tag = 0;
  for (const Wish& wish : wishes) tag = std::max(tag, wish.newest_tag + 1);
  world_.take_tag(tag);
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < wishes.size(); ++i)
    if (wishes[i].color == color) chosen.push_back(i);
  std::stable_sort(chosen.begin(), chosen.end(),
                   [&](std::size_t a, std::size_t b) { return wishes[a].key < wishes[b].key; });
  std::vector<int> members;
  for (const std::size_t i : chosen) members.push_back(members_[i]);
  return std::make_unique<MpiControl>(world_, std::move(members), tag, timeout_seconds_);
}

}  // namespace drift::mpi
