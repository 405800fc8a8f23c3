#pragma once

// How worlds fail: bodies for threads and for mpirun. After any of these a world only agrees, or not even
// that.

#include <chrono>
#include <thread>

#include "comm/control_checks.hpp"

namespace drift::test {

/// What a failed phase threw; throws itself if nothing was thrown.
inline AgreedError failure_of(Control& world, std::string_view phase, const std::function<void()>& body) {
  try {
    in_phase(world, phase, body);
  } catch (const AgreedError& error) {
    return error;
  }
  throw std::logic_error("check failed: phase '" + std::string(phase) + "' did not fail");
}

inline void expect_failure(const AgreedError& error, Fault fault, int rank, std::string_view phase,
                           std::string_view message) {
  const std::string seen = std::to_string(error.exit_code()) + " of rank " + std::to_string(error.rank()) +
                           " in '" + error.phase() + "': " + error.what();
  expect(error.fault() == fault && error.is_agreed() && error.rank() == rank && error.phase() == phase &&
             error.what() == message,
         "wanted " + std::to_string(static_cast<int>(fault)) + " of rank " + std::to_string(rank) + " in '" +
             std::string(phase) + "': " + std::string(message) + "; seen " + seen);
}

/// Bodies that move no data: any number of these after one another, in any world.
inline void agreements_on_failures(Control& world) {
  const int me = world.rank(), n = world.size();
  for (int failing = 0; failing < n; ++failing) {
    const std::string phase = "rank " + std::to_string(failing) + " alone";
    expect_failure(failure_of(world, phase, [&] { require(me != failing, Fault::input, "mine"); }),
                   Fault::input, failing, phase, "mine");
  }
  // Several at once: the smallest code, then the smallest rank.
  expect_failure(
      failure_of(world, "codes",
                 [&] { throw Error(me == n - 1 ? Fault::usage : Fault::comm, "r" + std::to_string(me)); }),
      Fault::usage, n - 1, "codes", "r" + std::to_string(n - 1));
  expect_failure(failure_of(world, "ranks", [&] { throw Error(Fault::io, "r" + std::to_string(me)); }),
                 Fault::io, 0, "ranks", "r0");
  // An interruption's code is smaller than its cause's here, and still does not win.
  expect_failure(failure_of(world, "cause",
                            [&] {
                              if (me == n - 1) throw Error(Fault::internal, "cause");
                              throw Interrupted();
                            }),
                 Fault::internal, n - 1, "cause", "cause");
  expect(failure_of(world, "memory", [] { throw std::bad_alloc(); }).fault() == Fault::device,
         "bad_alloc is 5");
  expect_failure(failure_of(world, "foreign", [] { throw std::runtime_error("foreign"); }), Fault::internal,
                 0, "foreign", "foreign");
  expect(failure_of(world, "number", [] { throw 42; }).fault() == Fault::internal,
         "an unknown exception is 8");
  // A long message is cut between characters, the same on every rank.
  std::string umlauts = "x";
  for (int i = 0; i < 1000; ++i) umlauts += "\xc3\xa4";
  const std::string cut = failure_of(world, "long", [&] { throw Error(Fault::io, umlauts); }).what();
  expect(cut.size() > 900 && cut.size() < 912 && cut.ends_with("\xa4 ...") &&
             umlauts.starts_with(cut.substr(0, cut.size() - 4)),
         "a long message is cut between characters: " + cut);
  // Data calls stay shut, agreements do not.
  bool shut = false;
  try {
    world.broadcast({});
  } catch (const Interrupted&) {
    shut = true;
  }
  expect(shut, "after a failure data calls throw Interrupted");
  in_phase(world, "the report", [] {});
}

inline void phases_that_differ_are_named(Control& world) {
  const int last = world.size() - 1;
  const AgreedError error = failure_of(world, world.rank() == last ? "compare" : "load", [] {});
  expect(error.fault() == Fault::internal && error.rank() == last,
         "ranks in different phases are a bug of ours");
  const std::string text = error.what();
  expect(text.find("'compare'") != text.npos && text.find("'load'") != text.npos,
         "both phases are named: " + text);
}

/// One rank fails; the others wait in a data call of the world, or of a group that the failing rank is not
/// in.
inline void alarm_wakes_waiting_ranks(Control& world, int failing) {
  const int n = world.size();
  const auto group = world.split(world.rank() == failing ? 1 : 0, world.rank());
  const auto body = [&] {
    if (world.rank() == failing) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      throw Error(Fault::io, "disk");
    }
    std::vector<std::byte> all(static_cast<std::size_t>(n) << 21);
    if (group->rank() == 0)
      world.all_gather(all.data(), all.data(), 1 << 21);  // waits for the failing rank
    else
      group->broadcast({});  // its rank 0 never comes
  };
  expect_failure(failure_of(world, "load", body), Fault::io, failing, "load", "disk");
  bool up = false;
  try {
    world.poll();
  } catch (const Interrupted&) {
    up = true;
  }
  expect(up, "poll tells of the alarm");
}

/// One rank does nothing; the others learn so in time. `nap`: what the silent rank does meanwhile.
inline void silence_is_a_timeout(Control& world, int silent, double seconds,
                                 const std::function<void()>& nap) {
  world.set_timeout(seconds);
  if (world.rank() == silent) {
    nap();
    return;
  }
  const auto start = std::chrono::steady_clock::now();
  std::vector<int> all(static_cast<std::size_t>(world.size()));
  const AgreedError error =
      failure_of(world, "candidate", [&] { world.all_gather(all.data(), all.data(), 0); });
  const double waited = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  expect(error.fault() == Fault::timeout && !error.is_agreed() && error.rank() == world.rank() &&
             error.phase() == "candidate",
         "silence is a timeout: " + std::string(error.what()));
  expect(std::string(error.what()).find("did not answer: " + std::to_string(silent)) != std::string::npos,
         "the silent rank is named: " + std::string(error.what()));
  expect(waited >= seconds && waited < seconds + 2.5, "in time: " + std::to_string(waited) + " s");
  // Nobody waits a second time.
  const auto again = std::chrono::steady_clock::now();
  expect(failure_of(world, "next", [] {}).fault() == Fault::comm, "a broken world does not agree again");
  expect(std::chrono::steady_clock::now() - again < std::chrono::milliseconds(500), "and says so at once");
}

}  // namespace drift::test
