/* Not faulty: takes 0.6 s in all, but calls back every 0.1 s. */

#include <time.h>

#include "right.h"

int drift_plugin_describe(struct drift_plugin_info* info) { return describe_as(info, "slow-but-alive"); }

int drift_plugin_log_prob(const struct drift_plugin_call* call, char* message, size_t message_bytes) {
  (void)message;
  (void)message_bytes;
  const struct timespec tenth = {0, 100000000};
  for (int i = 0; i < 6; ++i) {
    nanosleep(&tenth, NULL);
    if (call->allocate(call->group, 64) == NULL) return 1;
  }
  return right_log_prob(call);
}
