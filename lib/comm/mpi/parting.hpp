#pragma once

// How the ranks of a job end with a status that is not 0, so that each returns it. A launcher kills the rest
// of the job soon after it has seen such a status: SIGTERM when the second rank ends, SIGKILL when the third
// does. So all ranks call exit at the same moment, which is over before the launcher has looked twice.

#include <cstdint>

namespace drift {

/// From now on SIGTERM is ignored; SIGKILL still follows it.
void outlive_the_launchers_signal() noexcept;

/// Wall clock, milliseconds: what ranks agree on a moment in.
std::int64_t wall_clock() noexcept;
/// A moment that ranks which have not talked come to alike, unless they start too far apart.
std::int64_t common_moment() noexcept;

/// std::_Exit(code) at `moment`, but after 1.5 s at the latest: clocks may differ. Nothing is flushed.
[[noreturn]] void end_at(std::int64_t moment, int code) noexcept;

}  // namespace drift
