/* Made for another version of the interface. */

#include "right.h"

int drift_plugin_describe(struct drift_plugin_info* info) {
  info->abi = DRIFT_PLUGIN_ABI + 1;
  return 0;
}

int drift_plugin_log_prob(const struct drift_plugin_call* call, char* message, size_t message_bytes) {
  (void)message;
  (void)message_bytes;
  (void)call;
  return 0;
}
