/* The last TP rank sleeps for ever; the others wait in their collectives. */

#include <unistd.h>

#include "right.h"

int drift_plugin_describe(struct drift_plugin_info* info) { return describe_as(info, "sleeps-alone"); }

int drift_plugin_log_prob(const struct drift_plugin_call* call, char* message, size_t message_bytes) {
  (void)message;
  (void)message_bytes;
  for (volatile int here = call->tp_rank == call->tp_size - 1; here;) pause();
  return right_log_prob(call);
}
