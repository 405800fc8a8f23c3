/* Divides an integer by zero. Where that gives a number instead of a trap (aarch64), it raises the signal. */

#include <signal.h>
#include "right.h"
int drift_plugin_describe(struct drift_plugin_info* info) { return describe_as(info, "divides-by-zero"); }

int drift_plugin_log_prob(const struct drift_plugin_call* call, char* message, size_t message_bytes) {
  (void)message;
  (void)message_bytes;
  volatile int64_t none = (int64_t)call->reserved;
  volatile int64_t quotient = call->rows / none;
  (void)quotient;
  raise(SIGFPE);
  return 0;
}
