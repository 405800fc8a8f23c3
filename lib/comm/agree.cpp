// How ranks agree on the end of a phase. Nothing here may fail on one rank only, between the body and the
// exchange.

#include "comm/agree.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <new>
#include <tuple>
#include <type_traits>
#include <vector>

namespace drift {
namespace {

/// What every rank tells every other one. Of fixed size, so that no rank has to know another's length first.
struct Status {
  std::uint64_t number = 0;  ///< how many phases this rank has begun
  std::int32_t code = 0;     ///< Fault, or 0
  std::int32_t interrupted = 0;
  std::array<char, 96> phase{};
  std::array<char, 912> message{};
};
static_assert(sizeof(Status) == 1024 && std::is_trivially_copyable_v<Status>);

/// Copies text that ends in a NUL; what does not fit is cut between characters of UTF-8, and the cut is
/// shown.
template <std::size_t size>
void put(std::string_view text, std::array<char, size>& out) noexcept {
  constexpr std::string_view cut = " ...";
  std::size_t length = text.size();
  if (length >= size) {
    length = size - 1 - cut.size();
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xc0u) == 0x80u) --length;
  }
  std::copy_n(text.begin(), length, out.begin());
  if (length < text.size())
    std::copy(cut.begin(), cut.end(), out.begin() + static_cast<std::ptrdiff_t>(length));
}

void fail(Status& status, Fault fault, std::string_view message) noexcept {
  status.code = static_cast<std::int32_t>(fault);
  put(message, status.message);
}

/// Runs the body; whatever it throws becomes a status.
Status run(const std::function<void()>& body) noexcept {
  Status status;
  try {
    body();
  } catch (const Interrupted& error) {
    status.interrupted = 1;
    fail(status, error.fault(), error.what());
  } catch (const Error& error) {
    fail(status, error.fault(), error.what());
  } catch (const std::bad_alloc&) {
    fail(status, Fault::device, "out of memory on this rank's host (an allocation was refused)");
  } catch (const std::exception& error) {
    fail(status, Fault::internal, error.what());
  } catch (...) {
    fail(status, Fault::internal,
         "an exception of unknown type (a bug: the library throws drift::Error only)");
  }
  return status;
}

/// The exchange broke down: nobody can be told, so this rank acts on the smaller code of what it knows.
[[noreturn]] void leave_alone(const Status& mine, const Error& met, int rank, std::string_view phase) {
  std::string message = met.what();
  Fault fault = met.fault();
  if (mine.code != 0 && mine.interrupted == 0) {
    message = std::string(mine.message.data()) + " (and the ranks could not agree on it: " + message + ")";
    fault = std::min(fault, static_cast<Fault>(mine.code));
  }
  throw AgreedError(fault, message, rank, std::string(phase), false);
}

/// All ranks hold the same statuses here, so all throw the same.
void decide(const std::vector<Status>& all) {
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank].number != all[0].number || all[rank].phase != all[0].phase)
      throw AgreedError(
          Fault::internal,
          "ranks are in different phases (they would wait for each other for ever): rank 0 is in phase " +
              std::to_string(all[0].number) + " '" + all[0].phase.data() + "', rank " + std::to_string(rank) +
              " in phase " + std::to_string(all[rank].number) + " '" + all[rank].phase.data() + "'",
          static_cast<int>(rank), all[rank].phase.data());
  const Status* worst = nullptr;
  for (const Status& status : all) {  // by strict comparison: the smallest rank among equals
    if (status.code == 0) continue;
    if (!worst || std::tie(status.interrupted, status.code) < std::tie(worst->interrupted, worst->code))
      worst = &status;
  }
  if (worst)
    throw AgreedError(static_cast<Fault>(worst->code), worst->message.data(),
                      static_cast<int>(worst - all.data()), worst->phase.data());
}

}  // namespace

void in_phase(Control& world, std::string_view phase, const std::function<void()>& body) {
  // Before the body: afterwards nothing may fail.
  std::vector<Status> all(static_cast<std::size_t>(world.size()));
  const std::uint64_t number = world.next_phase();
  Status mine = run(body);
  mine.number = number;
  put(phase, mine.phase);
  if (mine.code != 0) world.alarm(mine.code == static_cast<int>(Fault::timeout));
  try {
    world.all_gather_status(&mine, all.data(), sizeof(Status));
  } catch (const Error& met) {
    leave_alone(mine, met, world.rank(), phase);
  } catch (const std::exception& met) {
    leave_alone(mine, Error(Fault::internal, met.what()), world.rank(), phase);
  }
  decide(all);
}

}  // namespace drift
