/* Recurses without an end. */

#include "right.h"

static int deep(const struct drift_plugin_call* call, int level) {
  volatile char frame[4096];
  frame[level % 4096] = (char)level;
  return call->rows > 0 ? deep(call, level + 1) + frame[(level + 1) % 4096] : 0;
}

int drift_plugin_describe(struct drift_plugin_info* info) { return describe_as(info, "overflows-stack"); }

int drift_plugin_log_prob(const struct drift_plugin_call* call, char* message, size_t message_bytes) {
  (void)message;
  (void)message_bytes;
  call->lse[0] = (float)deep(call, 1);
  return 0;
}
