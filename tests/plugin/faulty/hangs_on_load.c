/* Its constructor never returns. */

#include <unistd.h>

#include "right.h"

__attribute__((constructor)) static void on_load(void) {
  for (volatile int here = 1; here;) pause();
}

int drift_plugin_describe(struct drift_plugin_info* info) { return describe_as(info, "hangs-on-load"); }

int drift_plugin_log_prob(const struct drift_plugin_call* call, char* message, size_t message_bytes) {
  (void)message;
  (void)message_bytes;
  (void)call;
  return 0;
}
