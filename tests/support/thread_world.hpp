#pragma once

// N ranks as N threads of the test: a TP group of 4 without mpirun, under the rules that comm/control.hpp
// states.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "comm/control.hpp"

namespace drift::test {

/// What all threads share. Every field is read and written under `mutex`, and each change wakes everybody:
/// simple, and fast enough for tests.
struct ThreadShared {
  using Bytes = std::vector<std::byte>;
  /// One collective call of a group: the parts that have arrived, and how many ranks have taken the whole
  /// away.
  struct Round {
    explicit Round(std::size_t ranks) : parts(ranks), here(ranks) {}
    std::vector<Bytes> parts;
    std::vector<bool> here;
    std::size_t taken = 0;
    bool complete() const { return std::find(here.begin(), here.end(), false) == here.end(); }
  };
  using Key =
      std::tuple<std::vector<int>, std::string, bool, std::uint64_t>;  ///< members, path, status?, round

  std::mutex mutex;
  std::condition_variable changed;
  std::map<Key, Round> rounds;
  bool alarmed = false;
  bool expired = false;  ///< a data call ran past its deadline: agreements wait a second at most
  std::exception_ptr first_failure;
};

class ThreadControl final : public Control {
 public:
  ThreadControl(ThreadShared& shared, std::vector<int> members, int me, std::string path, double timeout)
      : shared_(shared), members_(std::move(members)), me_(me), path_(std::move(path)), timeout_(timeout) {}

  int rank() const override { return me_; }
  int size() const override { return static_cast<int>(members_.size()); }

  void all_gather(const void* mine, void* all, std::int64_t bytes) override { fill(mine, all, bytes, false); }
  void all_gather_status(const void* mine, void* all, std::int64_t bytes) override {
    fill(mine, all, bytes, true);
  }
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> mine) override {
    auto all = exchange({mine.begin(), mine.end()}, false);
    if (me_ != 0) all.clear();
    return all;
  }
  std::vector<std::byte> broadcast(std::span<const std::byte> mine) override {
    return exchange(me_ == 0 ? ThreadShared::Bytes{mine.begin(), mine.end()} : ThreadShared::Bytes{},
                    false)[0];
  }
  std::unique_ptr<Control> split(int color, int key) override {
    struct Wish {
      int color, key, index;
    };
    const Wish mine{color, key, me_};
    std::vector<Wish> wishes(members_.size());
    all_gather(&mine, wishes.data(), sizeof mine);
    std::erase_if(wishes, [&](const Wish& wish) { return wish.color != color; });
    std::stable_sort(wishes.begin(), wishes.end(),
                     [](const Wish& a, const Wish& b) { return a.key < b.key; });
    std::vector<int> members;
    int me = 0;
    for (const Wish& wish : wishes) {
      if (wish.index == me_) me = static_cast<int>(members.size());
      members.push_back(members_[static_cast<std::size_t>(wish.index)]);
    }
    return std::make_unique<ThreadControl>(shared_, std::move(members), me,
                                           path_ + "/" + std::to_string(data_rounds_), timeout_);
  }
  void poll() override {
    const std::lock_guard lock(shared_.mutex);
    if (shared_.alarmed) throw Interrupted();
  }
  void set_timeout(double seconds) override { timeout_ = seconds; }
  void alarm(bool timed_out) noexcept override {
    const std::lock_guard lock(shared_.mutex);
    shared_.alarmed = true;
    if (timed_out) shared_.expired = true;
    shared_.changed.notify_all();
  }

 private:
  using Clock = std::chrono::steady_clock;

  void fill(const void* mine, void* all, std::int64_t bytes, bool status) {
    const auto* from = static_cast<const std::byte*>(mine);
    const auto parts = exchange(ThreadShared::Bytes(from, from + bytes), status);
    auto* to = static_cast<std::byte*>(all);
    for (const auto& part : parts) {
      require(part.size() == static_cast<std::size_t>(bytes), Fault::internal,
              "ranks disagree about a message's size");
      to = std::copy(part.begin(), part.end(), to);
    }
  }

  std::vector<ThreadShared::Bytes> exchange(ThreadShared::Bytes mine, bool status) {
    std::unique_lock lock(shared_.mutex);
    if (shared_.alarmed && !status) throw Interrupted();
    require(!broken_, Fault::comm, "ranks have lost each other (an earlier agreement failed)");
    const ThreadShared::Key key{members_, path_, status, status ? ++status_rounds_ : ++data_rounds_};
    auto& round = shared_.rounds.try_emplace(key, members_.size()).first->second;
    round.parts[static_cast<std::size_t>(me_)] = std::move(mine);
    round.here[static_cast<std::size_t>(me_)] = true;
    shared_.changed.notify_all();
    Clock::time_point deadline = Clock::now() + to_duration(timeout_);
    while (!round.complete()) {
      if (shared_.alarmed && !status) throw Interrupted();
      if (shared_.expired && status) deadline = std::min(deadline, Clock::now() + to_duration(1));
      if (Clock::now() >= deadline) give_up(round, status);
      shared_.changed.wait_until(lock, deadline);
    }
    const std::vector<ThreadShared::Bytes> all = round.parts;
    if (++round.taken == members_.size()) shared_.rounds.erase(key);
    return all;
  }

  [[noreturn]] void give_up(const ThreadShared::Round& round, bool status) {
    if (status) broken_ = true;
    shared_.expired = true;
    shared_.changed.notify_all();
    std::string silent;
    for (std::size_t i = 0; i < members_.size(); ++i)
      if (!round.here[i]) silent += (silent.empty() ? "" : ", ") + std::to_string(members_[i]);
    throw Error(Fault::timeout, "rank(s) that did not answer: " + silent);
  }

  static Clock::duration to_duration(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

  ThreadShared& shared_;
  std::vector<int> members_;  ///< world ranks
  int me_;                    ///< index in members_
  std::string path_;          ///< groups of the same members differ by the splits that led to them
  double timeout_;
  bool broken_ = false;
  std::uint64_t data_rounds_ = 0, status_rounds_ = 0;
};

/// ThreadWorld(4, 5.0).run([](Control& world) { ... }): the body once per rank, each in a thread. A body that
/// throws sounds the alarm; when all have ended, the exception that came first is thrown again. Catch2's
/// assertions belong outside the body: they are not made for several threads.
class ThreadWorld {
 public:
  explicit ThreadWorld(int ranks, double timeout_seconds = 30) : ranks_(ranks), timeout_(timeout_seconds) {}

  void run(const std::function<void(Control&)>& body) const {
    ThreadShared shared;
    std::vector<int> members(static_cast<std::size_t>(ranks_));
    std::iota(members.begin(), members.end(), 0);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks_; ++rank)
      threads.emplace_back([&, rank] {
        ThreadControl world(shared, members, rank, "world", timeout_);
        try {
          body(world);
        } catch (...) {
          {
            const std::lock_guard lock(shared.mutex);
            if (!shared.first_failure) shared.first_failure = std::current_exception();
          }
          world.alarm(false);
        }
      });
    for (std::thread& thread : threads) thread.join();
    if (shared.first_failure) std::rethrow_exception(shared.first_failure);
  }

 private:
  int ranks_;
  double timeout_;
};

}  // namespace drift::test
