/* Never returns: busy, on every rank. */

#include "right.h"

int drift_plugin_describe(struct drift_plugin_info* info) { return describe_as(info, "never-returns"); }

int drift_plugin_log_prob(const struct drift_plugin_call* call, char* message, size_t message_bytes) {
  (void)message;
  (void)message_bytes;
  for (volatile uint32_t none = call->reserved; none == 0;) {
  }
  return right_log_prob(call);
}
