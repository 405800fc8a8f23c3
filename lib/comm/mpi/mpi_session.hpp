#pragma once

// The life of a process under mpirun, from MPI_Init to the exit status. No mpi.h here: cmd knows ranks, not
// MPI.
//
// The way out is `leave`, with a code that all ranks have agreed on. It flushes the standard streams, ignores
// SIGTERM from there on, waits for all in a last barrier, then:
//   clean     (nothing failed): MPI_Finalize; code 0 is returned, any other ends all ranks at one moment
//             (parting.hpp);
//   poisoned  (a failure was agreed while data calls were pending): the same without MPI_Finalize, which
//             would wait for messages that never come;
//   lost      (a peer is dead or stuck: the agreement or the barrier ran into its deadline): `abort(code)`.
// The barrier is why no rank ends while rank 0 still writes: mpirun kills the others at the first status that
// is not 0.

#include <memory>
#include <string>

#include "comm/control.hpp"

namespace drift {

class MpiSession {
 public:
  /// MPI_Init, thread level FUNNELED: all calls come from the thread that made the session; other threads
  /// make none. From here on the process dies with its launcher. `timeout_seconds`: of the controls (see
  /// Control). Throws Fault::comm. At most one session a process.
  MpiSession(int* argc, char*** argv, double timeout_seconds);
  /// Without `leave` before it: something went wrong that nobody has agreed on. Nothing waits here; the
  /// launcher ends the job when it sees a rank go.
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  /// All ranks. Call once; the session must outlive it and its splits.
  std::unique_ptr<Control> world();
  int rank() const;
  int size() const;

  /// The way out; see above: returns only 0. Collective where ranks still hear each other. `code`: 0 to 255,
  /// the same on every rank.
  int leave(int code);
  /// Ends the whole job: for a rank that nobody answers. Ranks other than 0 wait half a second first, in
  /// which rank 0 writes its report. 0 and codes above 255, which mpirun would take for success, become
  /// Fault::internal's.
  [[noreturn]] void abort(int code);

  /// Whether a launcher started this process: OMPI_COMM_WORLD_SIZE, PMIX_RANK with PMIX_NAMESPACE, or
  /// PMI_RANK with PMI_SIZE is set.
  static bool launched();
  /// "Open MPI v4.1.4": the library in use, which may be another than the one at configure time. Needs no
  /// session.
  static std::string library_version();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace drift
