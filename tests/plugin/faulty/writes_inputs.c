/* Takes the maximum out of the logits in place, as kernels that save memory do. */

#include "right.h"

int drift_plugin_describe(struct drift_plugin_info* info) { return describe_as(info, "writes-inputs"); }

int drift_plugin_log_prob(const struct drift_plugin_call* call, char* message, size_t message_bytes) {
  (void)message;
  (void)message_bytes;
  if (right_log_prob(call) != 0) return 1;
  for (int64_t r = 0; r < call->rows; ++r) ((float*)(uintptr_t)call->logits)[r * call->pitch] -= 1.0f;
  return 0;
}
