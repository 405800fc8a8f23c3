/* Wants a petabyte of scratch memory, and minds. */

#include "right.h"

int drift_plugin_describe(struct drift_plugin_info* info) { return describe_as(info, "allocates-too-much"); }

int drift_plugin_log_prob(const struct drift_plugin_call* call, char* message, size_t message_bytes) {
  (void)message;
  (void)message_bytes;
  if (call->allocate(call->group, (int64_t)1 << 50) == NULL) return 3;
  return right_log_prob(call);
}
