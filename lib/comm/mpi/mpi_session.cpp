#include "comm/mpi/mpi_session.hpp"

#include <mpi.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <numeric>

#include "base/error.hpp"
#include "comm/mpi/mpi_check.hpp"
#include "comm/mpi/mpi_control.hpp"
#include "comm/mpi/mpi_world.hpp"
#include "comm/mpi/orphan_guard.hpp"
#include "comm/mpi/parting.hpp"

namespace drift {
namespace {

constexpr double last_barrier_seconds = 10;  // everything has been agreed before: ranks arrive together
constexpr std::int64_t finalize_milliseconds = 300;
constexpr long abort_delay_nanoseconds = 500'000'000;

int failing_code(int code) { return code >= 1 && code <= 255 ? code : static_cast<int>(Fault::internal); }

void flush() {
  std::cout.flush();
  std::fflush(nullptr);
}

std::vector<int> all_ranks(int size) {
  std::vector<int> out(static_cast<std::size_t>(size));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

}  // namespace

struct MpiSession::State {
  explicit State(double timeout_seconds)
      : world(timeout_seconds), last(world, all_ranks(world.size()), 0, timeout_seconds) {}
  mpi::MpiWorld world;
  mpi::MpiControl last;  ///< for the barrier at the end: the control that `world()` gave may be gone by then
};

MpiSession::MpiSession(int* argc, char*** argv, double timeout_seconds) {
  die_with_launcher();
  int level = 0;
  mpi::check(MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &level));
  require(level >= MPI_THREAD_FUNNELED, Fault::comm,
          "this MPI allows no threads in a process at all (dumps are read by one), seen thread level " +
              std::to_string(level) + ", wanted MPI_THREAD_FUNNELED");
  state_ = std::make_unique<State>(timeout_seconds);
}

MpiSession::~MpiSession() = default;

std::unique_ptr<Control> MpiSession::world() {
  mpi::MpiWorld& world = state_->world;
  return std::make_unique<mpi::MpiControl>(world, all_ranks(world.size()), 0, world.timeout_seconds());
}

int MpiSession::rank() const { return state_->world.rank(); }
int MpiSession::size() const { return state_->world.size(); }

int MpiSession::leave(int code) {
  outlive_the_launchers_signal();
  flush();
  std::int64_t moment = 0;
  try {
    const double seconds = std::min(last_barrier_seconds, state_->world.timeout_seconds());
    moment = state_->last.last_barrier(seconds, wall_clock()) + finalize_milliseconds;
  } catch (const Error& error) {
    abort(code != 0 ? code : error.exit_code());
  }
  if (!state_->world.healthy()) end_at(moment, failing_code(code));
  state_->world.free();
  mpi::check(MPI_Finalize());
  if (code != 0) end_at(moment, failing_code(code));
  return code;
}

void MpiSession::abort(int code) {
  outlive_the_launchers_signal();
  flush();
  if (rank() != 0) {
    const timespec delay{.tv_sec = 0, .tv_nsec = abort_delay_nanoseconds};
    nanosleep(&delay, nullptr);
  }
  MPI_Abort(MPI_COMM_WORLD, failing_code(code));
  std::_Exit(failing_code(code));  // MPI_Abort does not promise to stay
}

bool MpiSession::launched() {
  const auto set = [](const char* name) { return std::getenv(name) != nullptr; };
  return set("OMPI_COMM_WORLD_SIZE") || (set("PMIX_RANK") && set("PMIX_NAMESPACE")) ||
         (set("PMI_RANK") && set("PMI_SIZE"));
}

std::string MpiSession::library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING + 1] = {};
  int length = 0;
  mpi::check(MPI_Get_library_version(text, &length));
  const std::string all(text, static_cast<std::size_t>(length));
  return all.substr(0, all.find_first_of(",\n"));
}

}  // namespace drift
