/* The last TP rank calls a collective after the others have returned. */

#include "right.h"

int drift_plugin_describe(struct drift_plugin_info* info) { return describe_as(info, "one-more-collective"); }

int drift_plugin_log_prob(const struct drift_plugin_call* call, char* message, size_t message_bytes) {
  (void)message;
  (void)message_bytes;
  if (right_log_prob(call) != 0) return 1;
  return call->tp_rank == call->tp_size - 1 ? call->all_gather(call->group, call->lse, call->logp, 4) : 0;
}
