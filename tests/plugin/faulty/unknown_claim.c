/* Claims what is no claim. */

#include "right.h"

int drift_plugin_describe(struct drift_plugin_info* info) {
  describe_as(info, "unknown-claim");
  info->claims = "tp, speed";
  return 0;
}

int drift_plugin_log_prob(const struct drift_plugin_call* call, char* message, size_t message_bytes) {
  (void)message;
  (void)message_bytes;
  (void)call;
  return 0;
}
