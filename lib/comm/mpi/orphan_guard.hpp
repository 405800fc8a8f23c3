#pragma once

namespace drift {

/// From now on this process is killed when its launcher dies, also by SIGKILL: Open MPI 5 leaves orphans
/// otherwise, which spin on a processor or a GPU for ever.
void die_with_launcher() noexcept;

}  // namespace drift
