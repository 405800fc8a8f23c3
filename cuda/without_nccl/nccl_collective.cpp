// The answers about NCCL of a CUDA build whose configure step found no NCCL.

#include "backend/devices.hpp"
#include "base/error.hpp"

namespace drift {

bool nccl_built() { return false; }

std::string nccl_version() { return "none"; }

std::unique_ptr<Collective> make_nccl_collective(Backend&, Control&, double) {
  throw Error(Fault::device,
              "this build has no NCCL (configure found no nccl.h or libnccl); --transport mpi exchanges "
              "through the host");
}

}  // namespace drift
