/* Asks for a gather of a size that is none, and does not look at the answer. */

#include "right.h"

int drift_plugin_describe(struct drift_plugin_info* info) { return describe_as(info, "bad-collective"); }

int drift_plugin_log_prob(const struct drift_plugin_call* call, char* message, size_t message_bytes) {
  (void)message;
  (void)message_bytes;
  call->all_gather(call->group, call->logits, call->lse, -8);
  return right_log_prob(call);
}
