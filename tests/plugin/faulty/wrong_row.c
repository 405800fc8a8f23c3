/* Wrong by 0.001 in the row that the dump numbers 3. */

#include "right.h"

int drift_plugin_describe(struct drift_plugin_info* info) { return describe_as(info, "wrong-row"); }

int drift_plugin_log_prob(const struct drift_plugin_call* call, char* message, size_t message_bytes) {
  (void)message;
  (void)message_bytes;
  if (right_log_prob(call) != 0) return 1;
  for (int64_t r = 0; r < call->rows; ++r)
    if (call->row_numbers[r] == 3) {
      call->lse[r] += 0.001f;
      call->logp[r] -= 0.001f;
    }
  return 0;
}
