// Stands in for cuda/oracle where no CUDA was compiled: an error code instead of a missing symbol.

#include "oracle/oracle.hpp"

namespace oracle {

int log_prob_cuda(const Rows&, float*, float*, void*) { return 801; }  // cudaErrorNotSupported

}  // namespace oracle
