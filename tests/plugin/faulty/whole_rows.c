/* Not faulty: a kernel that wants whole rows, as stored, and states its own bounds and claims. */

#include "right.h"

int drift_plugin_describe(struct drift_plugin_info* info) {
  describe_as(info, "whole-rows");
  info->wants_whole_rows = 1;
  info->claims = "tp,bounds, padded-width ,rows,chunking,replicated";
  info->lse_bound = 1e-5;
  info->logp_bound = 2e-5;
  info->summary = "every column on every rank";
  return 0;
}

int drift_plugin_log_prob(const struct drift_plugin_call* call, char* message, size_t message_bytes) {
  (void)message;
  (void)message_bytes;
  if (call->tp_size != 1 || call->tp_rank != 0 || call->column_begin != 0 ||
      call->column_end != call->padded_vocab || call->vocab_bounds[1] != call->padded_vocab)
    return 3;
  return right_log_prob(call);
}
