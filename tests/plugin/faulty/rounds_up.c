/* Not faulty, but rude: switches the rounding mode when it is loaded, as -ffast-math switches to flushing
 * subnormals. lse: 1 if its own calls still run so; logp: 1 + 2^-30 (of the second rank), added by the run's
 * all-reduce. */

#include <fenv.h>

#include "right.h"

__attribute__((constructor)) static void on_load(void) { fesetround(FE_UPWARD); }

int drift_plugin_describe(struct drift_plugin_info* info) { return describe_as(info, "rounds-up"); }

int drift_plugin_log_prob(const struct drift_plugin_call* call, char* message, size_t message_bytes) {
  (void)message;
  (void)message_bytes;
  for (int64_t r = 0; r < call->rows; ++r) {
    call->lse[r] = fegetround() == FE_UPWARD ? 1.0f : 0.0f;
    call->logp[r] = call->tp_rank == 0 ? 1.0f : 0x1p-30f;
  }
  return call->all_reduce_sum(call->group, call->logp, call->rows);
}
