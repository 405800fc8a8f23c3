/* Crashes in its constructor. */

#include <stdlib.h>
#include "right.h"

__attribute__((constructor)) static void on_load(void) { abort(); }

int drift_plugin_describe(struct drift_plugin_info* info) { return describe_as(info, "crashes-on-load"); }

int drift_plugin_log_prob(const struct drift_plugin_call* call, char* message, size_t message_bytes) {
  (void)message;
  (void)message_bytes;
  (void)call;
  return 0;
}
