#pragma once

/* What the faulty plug-ins have in common: a plain right answer for fp32 logits in host memory, to go wrong
 * from. */

#include <math.h>
#include <stddef.h>

#include "drift_plugin.h"

static inline int describe_as(struct drift_plugin_info* info, const char* name) {
  info->abi = DRIFT_PLUGIN_ABI;
  info->name = name;
  info->memories = DRIFT_MEMORY_HOST;
  info->dtypes = DRIFT_DTYPE_F32;
  return 0;
}

static inline int right_log_prob(const struct drift_plugin_call* call) {
  const float* logits = (const float*)call->logits;
  const int64_t end = call->column_end < call->vocab ? call->column_end : call->vocab;
  float* work = (float*)call->allocate(call->group, 3 * call->rows * (int64_t)sizeof(float));
  if (work == NULL) return 1;
  float *max = work, *sum = work + call->rows, *target = sum + call->rows;
  for (int64_t r = 0; r < call->rows; ++r) {
    max[r] = -INFINITY;
    for (int64_t c = call->column_begin; c < end; ++c)
      max[r] = fmaxf(max[r], logits[r * call->pitch + c - call->column_begin]);
  }
  if (call->all_reduce_max(call->group, max, call->rows) != 0) return 1;
  for (int64_t r = 0; r < call->rows; ++r) {
    double terms = 0;
    for (int64_t c = call->column_begin; c < end; ++c)
      terms += exp((double)logits[r * call->pitch + c - call->column_begin] - (double)max[r]);
    sum[r] = (float)terms;
    const int64_t t = call->targets[r];
    target[r] = t >= call->column_begin && t < end ? logits[r * call->pitch + t - call->column_begin] : 0.0f;
  }
  if (call->all_reduce_sum(call->group, sum, 2 * call->rows) != 0) return 1;
  for (int64_t r = 0; r < call->rows; ++r) {
    call->lse[r] = (float)((double)max[r] + log((double)sum[r]));
    call->logp[r] = (float)((double)target[r] - (double)max[r] - log((double)sum[r]));
  }
  return 0;
}
