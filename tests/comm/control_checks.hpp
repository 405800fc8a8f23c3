#pragma once

// What every Control promises, as functions of a world: run over threads, over one rank, and by mpirun. They
// throw what is wrong instead of using Catch2, which is not made for several threads or processes.

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "comm/agree.hpp"
#include "comm/axes.hpp"
#include "comm/collective.hpp"
#include "comm/control.hpp"
#include "comm/host_backend.hpp"

namespace drift::test {

inline void expect(bool ok, const std::string& what) {
  if (!ok) throw std::logic_error("check failed: " + what);
}

/// Bytes that tell rank, place and salt apart.
inline std::vector<std::byte> pattern(std::int64_t bytes, int rank, int salt = 0) {
  std::vector<std::byte> out(static_cast<std::size_t>(bytes));
  std::uint64_t state = 0x9e3779b97f4a7c15u * static_cast<std::uint64_t>(rank * 1009 + salt + 1);
  for (std::byte& byte : out) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<std::byte>(state >> 56);
  }
  return out;
}

/// The sizes that break things: nothing, one, odd, a page, around the 1 MiB piece, and several pieces.
inline const std::vector<std::int64_t>& sizes() {
  static const std::vector<std::int64_t> all{
      0, 1, 3, 4096, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, (2 << 20) + 7};
  return all;
}

inline void all_gather_is_in_rank_order(Control& world) {
  for (const std::int64_t bytes : sizes()) {
    const auto mine = pattern(bytes, world.rank());
    std::vector<std::byte> all(static_cast<std::size_t>(bytes * world.size()) + 1, std::byte{0x5a});
    world.all_gather(mine.data(), all.data(), bytes);
    for (int rank = 0; rank < world.size(); ++rank) {
      const auto theirs = pattern(bytes, rank);
      expect(std::equal(theirs.begin(), theirs.end(), all.begin() + rank * bytes),
             "all_gather of " + std::to_string(bytes) + " bytes: rank " + std::to_string(rank) + "'s part");
    }
    expect(all.back() == std::byte{0x5a}, "all_gather writes nothing behind the end");
  }
}

inline void all_gather_may_be_in_place(Control& world) {
  const std::int64_t bytes = (3 << 20) + 5;
  std::vector<std::byte> all(static_cast<std::size_t>(bytes * world.size()));
  const auto mine = pattern(bytes, world.rank(), 1);
  std::copy(mine.begin(), mine.end(), all.begin() + world.rank() * bytes);
  world.all_gather(all.data() + world.rank() * bytes, all.data(), bytes);
  for (int rank = 0; rank < world.size(); ++rank) {
    const auto theirs = pattern(bytes, rank, 1);
    expect(std::equal(theirs.begin(), theirs.end(), all.begin() + rank * bytes), "all_gather in place");
  }
}

/// Every rank another length, among them nothing and several pieces.
inline std::int64_t ragged(int rank, int turn) {
  return sizes()[static_cast<std::size_t>(rank + turn) % sizes().size()];
}

inline void gather_takes_any_length(Control& world) {
  for (int turn = 0; turn < static_cast<int>(sizes().size()); ++turn) {
    const auto all = world.gather(pattern(ragged(world.rank(), turn), world.rank(), turn));
    expect(all.size() == (world.rank() == 0 ? static_cast<std::size_t>(world.size()) : 0),
           "gather fills rank 0 only");
    for (int rank = 0; rank < static_cast<int>(all.size()); ++rank)
      expect(all[static_cast<std::size_t>(rank)] == pattern(ragged(rank, turn), rank, turn),
             "gathered bytes");
  }
}

inline void broadcast_is_rank_0s(Control& world) {
  for (const std::int64_t bytes : sizes())
    expect(world.broadcast(pattern(world.rank() == 0 ? bytes : 2, world.rank(), 2)) == pattern(bytes, 0, 2),
           "broadcast of " + std::to_string(bytes) + " bytes");
}

inline void split_orders_by_key(Control& world) {
  const int me = world.rank(), n = world.size();
  const auto reversed = world.split(0, -me);
  expect(reversed->size() == n && reversed->rank() == n - 1 - me, "a split orders by key");
  const auto same_key = world.split(3, 7);
  expect(same_key->size() == n && same_key->rank() == me, "equal keys keep the order of ranks");
  const auto parity = world.split(me % 2, me);
  expect(parity->rank() == me / 2 && parity->size() == (n + 1 - me % 2) / 2, "colors make groups");
  // Messages of groups with common ranks do not mix, whichever is used first.
  std::vector<int> a(static_cast<std::size_t>(n)), b(static_cast<std::size_t>(parity->size())), c(a.size());
  const int mine_a = 100 + me, mine_b = 200 + me, mine_c = 300 + me;
  parity->all_gather(&mine_b, b.data(), sizeof(int));
  reversed->all_gather(&mine_a, a.data(), sizeof(int));
  world.all_gather(&mine_c, c.data(), sizeof(int));
  for (int i = 0; i < n; ++i)
    expect(a[static_cast<std::size_t>(i)] == 100 + n - 1 - i && c[static_cast<std::size_t>(i)] == 300 + i,
           "order");
  for (int i = 0; i < parity->size(); ++i)
    expect(b[static_cast<std::size_t>(i)] == 200 + 2 * i + me % 2, "order");
  const auto alone = parity->split(me, 0);  // a split of a split, of one rank
  expect(alone->size() == 1 && alone->rank() == 0 && alone->gather(pattern(9, me)).size() == 1,
         "a group of one");
  const auto again =
      world.split(0, 0);  // groups have made different numbers of groups by now in no world, but may
  expect(again->broadcast(pattern(5, me)) == pattern(5, 0), "a group made after others");
}

inline void axes_are_rows_of_the_grid(Control& world) {
  for (int tp = 1; tp <= world.size(); ++tp) {
    const int cp = world.size() / tp;
    if (tp * cp != world.size()) {
      bool refused = false;
      try {
        Axes axes({tp, cp}, world);
      } catch (const Error& error) {
        refused = error.fault() == Fault::usage;
      }
      expect(refused, "a grid that is not the world is a usage error");
      continue;
    }
    const Axes axes({tp, cp}, world);
    expect(axes.tp->size() == tp && axes.tp->rank() == axes.tp_rank, "the TP group");
    expect(world.rank() == axes.cp_rank * tp + axes.tp_rank, "places in the grid");
    std::vector<int> peers(static_cast<std::size_t>(tp));
    const int me = world.rank();
    axes.tp->all_gather(&me, peers.data(), sizeof me);
    for (int i = 0; i < tp; ++i)
      expect(peers[static_cast<std::size_t>(i)] == axes.cp_rank * tp + i, "neighbours");
  }
  expect(local_rank(world) == world.rank(), "all ranks of this test share a host");
}

/// Magnitudes from 2^-20 to 2^20, so that any other order of adding gives other bits.
inline float sample(std::int64_t i, int rank) {
  std::uint64_t hash =
      (static_cast<std::uint64_t>(i) * 64 + static_cast<std::uint64_t>(rank) + 1) * 0x9e3779b97f4a7c15u;
  hash = (hash ^ (hash >> 29)) * 0xbf58476d1ce4e5b9u;
  return std::ldexp(static_cast<float>(static_cast<int>(hash >> 48) - 32768),
                    static_cast<int>((hash >> 32) % 41) - 35);
}

inline void reductions_are_in_rank_order(Control& world) {
  for (const bool host : {true, false}) {
    HostBackend backend(host);
    const auto staged = make_staged_collective(backend, world);
    expect(staged->rank() == world.rank() && staged->size() == world.size(), "ranks of a collective");
    for (const std::int64_t count : {0, 1, 77, 1'100'000}) {
      if (count > 100 && !host) continue;
      std::vector<float> sum(static_cast<std::size_t>(count));
      for (std::int64_t i = 0; i < count; ++i) sum[static_cast<std::size_t>(i)] = sample(i, world.rank());
      std::vector<float> max = sum;
      staged->all_reduce(sum.data(), count, Reduce::sum);
      staged->all_reduce(max.data(), count, Reduce::max);
      for (std::int64_t i = 0; i<count; i += count> 100 ? 4099 : 1) {
        float wanted_sum = sample(i, 0), wanted_max = wanted_sum;
        for (int rank = 1; rank < world.size(); ++rank) {
          wanted_sum += sample(i, rank);
          wanted_max = std::fmax(wanted_max, sample(i, rank));
        }
        expect(std::bit_cast<std::uint32_t>(sum[static_cast<std::size_t>(i)]) ==
                   std::bit_cast<std::uint32_t>(wanted_sum),
               "bits of a sum in rank order");
        expect(max[static_cast<std::size_t>(i)] == wanted_max, "a maximum");
      }
    }
    const std::int64_t bytes = (9 << 20) + 3;
    const auto mine = pattern(bytes, world.rank(), 3);
    std::vector<std::byte> all(static_cast<std::size_t>(bytes * world.size()));
    staged->all_gather(mine.data(), all.data(), bytes);
    for (int rank = 0; rank < world.size(); ++rank) {
      const auto theirs = pattern(bytes, rank, 3);
      expect(std::equal(theirs.begin(), theirs.end(), all.begin() + rank * bytes), "a staged all_gather");
    }
  }
}

inline void phases_that_succeed_go_on(Control& world) {
  int ran = 0;
  for (int i = 0; i < 50; ++i) in_phase(world, "phase " + std::to_string(i), [&] { ran += 1; });
  expect(ran == 50, "every phase runs its body once");
  std::vector<int> all(static_cast<std::size_t>(world.size()));
  in_phase(world, "data", [&] { world.all_gather(&ran, all.data(), sizeof ran); });
  expect(all == std::vector<int>(all.size(), 50), "data moves inside a phase");
}

struct Check {
  std::string_view name;
  void (*run)(Control&);
};

/// Checks after which the world is as good as new.
inline const std::vector<Check>& healthy_checks() {
  static const std::vector<Check> all{{"all_gather is in rank order", all_gather_is_in_rank_order},
                                      {"all_gather may be in place", all_gather_may_be_in_place},
                                      {"gather takes any length", gather_takes_any_length},
                                      {"broadcast is rank 0's", broadcast_is_rank_0s},
                                      {"split orders by key", split_orders_by_key},
                                      {"axes are rows of the grid", axes_are_rows_of_the_grid},
                                      {"reductions are in rank order", reductions_are_in_rank_order},
                                      {"phases that succeed go on", phases_that_succeed_go_on}};
  return all;
}

}  // namespace drift::test
