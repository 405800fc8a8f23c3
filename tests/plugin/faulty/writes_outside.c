/* Writes one value too many. */

#include "right.h"

int drift_plugin_describe(struct drift_plugin_info* info) { return describe_as(info, "writes-outside"); }

int drift_plugin_log_prob(const struct drift_plugin_call* call, char* message, size_t message_bytes) {
  (void)message;
  (void)message_bytes;
  if (right_log_prob(call) != 0) return 1;
  call->logp[call->rows] = 0.0f;
  return 0;
}
