/* Crashes before it has said who it is. */

#include "right.h"

int drift_plugin_describe(struct drift_plugin_info* info) {
  return (int)*(volatile const char*)(uintptr_t)(info->abi); /* address 0, but no compiler knows */
}

int drift_plugin_log_prob(const struct drift_plugin_call* call, char* message, size_t message_bytes) {
  (void)message;
  (void)message_bytes;
  (void)call;
  return 0;
}
