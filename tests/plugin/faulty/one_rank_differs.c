/* The last TP rank returns other bits than the rest. */

#include "right.h"

int drift_plugin_describe(struct drift_plugin_info* info) { return describe_as(info, "one-rank-differs"); }

int drift_plugin_log_prob(const struct drift_plugin_call* call, char* message, size_t message_bytes) {
  (void)message;
  (void)message_bytes;
  if (right_log_prob(call) != 0) return 1;
  if (call->tp_rank == call->tp_size - 1) call->logp[0] = nextafterf(call->logp[0], -INFINITY);
  return 0;
}
