/* The last TP rank gives up before its collectives; the others wait in theirs. */

#include "right.h"

int drift_plugin_describe(struct drift_plugin_info* info) { return describe_as(info, "fails-alone"); }

int drift_plugin_log_prob(const struct drift_plugin_call* call, char* message, size_t message_bytes) {
  (void)message;
  (void)message_bytes;
  if (call->tp_rank == call->tp_size - 1) return 9;
  return right_log_prob(call);
}
