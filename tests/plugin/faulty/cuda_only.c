/* Computes in CUDA memory, reads BF16, knows no temperature. */

#include "right.h"

int drift_plugin_describe(struct drift_plugin_info* info) {
  describe_as(info, "cuda-only");
  info->memories = DRIFT_MEMORY_CUDA;
  info->dtypes = DRIFT_DTYPE_BF16;
  return 0;
}

int drift_plugin_log_prob(const struct drift_plugin_call* call, char* message, size_t message_bytes) {
  (void)message;
  (void)message_bytes;
  (void)call;
  return 0;
}
