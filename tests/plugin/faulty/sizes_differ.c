/* TP ranks reduce different numbers of values. */

#include "right.h"

int drift_plugin_describe(struct drift_plugin_info* info) { return describe_as(info, "sizes-differ"); }

int drift_plugin_log_prob(const struct drift_plugin_call* call, char* message, size_t message_bytes) {
  (void)message;
  (void)message_bytes;
  float* work = (float*)call->allocate(call->group, 64);
  if (work == NULL || call->all_reduce_max(call->group, work, call->tp_rank == 0 ? 8 : 4) != 0) return 1;
  return right_log_prob(call);
}
