/* Writes through a null pointer, after its collectives. */

#include "right.h"

int drift_plugin_describe(struct drift_plugin_info* info) { return describe_as(info, "segfaults"); }

int drift_plugin_log_prob(const struct drift_plugin_call* call, char* message, size_t message_bytes) {
  (void)message;
  (void)message_bytes;
  if (right_log_prob(call) != 0) return 1;
  *(volatile int*)(uintptr_t)call->reserved = 1; /* address 0, but no compiler knows */
  return 0;
}
