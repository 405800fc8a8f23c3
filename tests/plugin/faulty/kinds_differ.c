/* The first TP rank takes a maximum, the others add up. It does not look at the answer. */

#include "right.h"

int drift_plugin_describe(struct drift_plugin_info* info) { return describe_as(info, "kinds-differ"); }

int drift_plugin_log_prob(const struct drift_plugin_call* call, char* message, size_t message_bytes) {
  (void)message;
  (void)message_bytes;
  float* work = (float*)call->allocate(call->group, 64);
  if (work == NULL) return 1;
  (call->tp_rank == 0 ? call->all_reduce_max : call->all_reduce_sum)(call->group, work, 8);
  return right_log_prob(call);
}
