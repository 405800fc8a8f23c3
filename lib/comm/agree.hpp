#pragma once

// A phase ends when all ranks agree that it did: all go on, or all throw the same error.

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "comm/control.hpp"

namespace drift {

/// Thrown out of a data call because another rank has failed; `in_phase` replaces it by that rank's error.
class Interrupted : public Error {
 public:
  Interrupted() : Error(Fault::comm, "another rank failed while this one waited for it") {}
};

/// An error that all ranks have agreed on: whose it was, and in which phase.
class AgreedError : public Error {
 public:
  AgreedError(Fault fault, const std::string& message, int rank, std::string phase, bool is_agreed = true)
      : Error(fault, message), rank_(rank), phase_(std::move(phase)), is_agreed_(is_agreed) {}
  /// False if the exchange itself failed: peers are dead or stuck, and nothing more can be said to them.
  bool is_agreed() const noexcept { return is_agreed_; }
  int rank() const noexcept { return rank_; }
  const std::string& phase() const noexcept { return phase_; }

 private:
  int rank_;
  std::string phase_;
  bool is_agreed_;
};

/// Run `body`, then exchange how it ended. If any rank failed, every rank throws the same AgreedError: the
/// smallest fault code, then the smallest rank; interruptions never win over their cause. std::bad_alloc
/// counts as Fault::device, any other exception as Fault::internal. Messages longer than about 900 bytes are
/// cut.
///
/// Every rank runs the same phases in the same order; phases do not nest. Ranks found in different phases
/// throw Fault::internal with both names. If the exchange itself fails (a dead or stuck peer), throws what it
/// met as an AgreedError of this rank, or this rank's own failure if that has the smaller code; the ranks may
/// then differ.
void in_phase(Control& world, std::string_view phase, const std::function<void()>& body);

}  // namespace drift
