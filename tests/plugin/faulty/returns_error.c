/* Returns an error with a message. */

#include <stdio.h>
#include "right.h"
int drift_plugin_describe(struct drift_plugin_info* info) { return describe_as(info, "returns-error"); }

int drift_plugin_log_prob(const struct drift_plugin_call* call, char* message, size_t message_bytes) {
  (void)message;
  (void)message_bytes;
  snprintf(message, message_bytes, "cannot do %lld rows\n\x1b[31m", (long long)call->rows);
  return 17;
}
