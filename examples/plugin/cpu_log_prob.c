/* A plug-in in plain C: vocabulary-parallel log-probs in host memory, the way most trainers merge their
 * shards.
 *
 *   M    = max over all columns        local max, all-reduce max
 *   S    = sum of exp(y - M)           local sum in double, rounded to float, all-reduce sum
 *   y_t  = the target's value          the owner's, zeros elsewhere, all-reduce sum
 *   lse  = M + log S;  logp = (y_t - M) - log S
 *
 * Build: cc -O2 -fPIC -shared -I lib/plugin examples/plugin/cpu_log_prob.c -o cpu_log_prob.so -lm */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "drift_plugin.h"

int drift_plugin_describe(struct drift_plugin_info* info) {
  info->abi = DRIFT_PLUGIN_ABI;
  info->name = "example-cpu";
  info->summary = "all-reduce max, then all-reduce sums that were added in fp64; plain C";
  info->claims = "rows, chunking"; /* no more: float sums of shards depend on where they are cut */
  info->memories = DRIFT_MEMORY_HOST;
  info->dtypes = DRIFT_DTYPE_BF16 | DRIFT_DTYPE_F16 | DRIFT_DTYPE_F32 | DRIFT_DTYPE_F64;
  info->temperature_orders = DRIFT_TEMPERATURE_F32 | DRIFT_TEMPERATURE_RECIPROCAL;
  return 0;
}

static float from_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static float widen_f16(uint16_t half) {
  const uint32_t sign = (uint32_t)(half & 0x8000u) << 16, exponent = half >> 10 & 31u,
                 fraction = half & 1023u;
  if (exponent == 31) return from_bits(sign | 0x7f800000u | fraction << 13);
  const float magnitude =
      exponent == 0 ? ldexpf((float)fraction, -24) : ldexpf((float)(fraction + 1024u), (int)exponent - 25);
  return sign ? -magnitude : magnitude;
}

/* Steps 1, 3 and 4 of drift_plugin.h; step 2 never happens, because describe() lists no rounds_to. */
static float value_at(const struct drift_plugin_call* call, int64_t row, int64_t column) {
  const int64_t at = row * call->pitch + (column - call->column_begin);
  float x;
  switch (call->dtype) {
    case DRIFT_DTYPE_BF16: x = from_bits((uint32_t)((const uint16_t*)call->logits)[at] << 16); break;
    case DRIFT_DTYPE_F16: x = widen_f16(((const uint16_t*)call->logits)[at]); break;
    case DRIFT_DTYPE_F32: x = ((const float*)call->logits)[at]; break;
    default: x = (float)((const double*)call->logits)[at]; break;
  }
  if (call->temperature != 1.0f)
    x = call->temperature_order == DRIFT_TEMPERATURE_F32 ? x / call->temperature
                                                         : x * (1.0f / call->temperature);
  return x < -0x1p30f ? -INFINITY : x > 0x1p30f ? INFINITY : x;
}

int drift_plugin_log_prob(const struct drift_plugin_call* call, char* message, size_t message_bytes) {
  const int64_t end =
      call->column_end < call->vocab ? call->column_end : call->vocab; /* the rest is padding */
  float* max = call->allocate(call->group, call->rows * (int64_t)sizeof(float));
  float* sum = call->allocate(call->group, 2 * call->rows * (int64_t)sizeof(float));
  if (max == NULL || sum == NULL) return 1;
  float* target = sum + call->rows; /* behind the sums: both are reduced at once */

  for (int64_t r = 0; r < call->rows; ++r) {
    max[r] = -INFINITY;
    for (int64_t c = call->column_begin; c < end; ++c) {
      const float y = value_at(call, r, c);
      if (y > max[r] || y != y) max[r] = y;
    }
  }
  if (call->all_reduce_max(call->group, max, call->rows) != 0) return 1;

  for (int64_t r = 0; r < call->rows; ++r) {
    double terms = 0;
    for (int64_t c = call->column_begin; c < end; ++c) terms += expf(value_at(call, r, c) - max[r]);
    sum[r] = (float)terms;
    const int64_t t = call->targets[r];
    target[r] = t >= call->column_begin && t < end ? value_at(call, r, t) : 0.0f;
  }
  if (call->all_reduce_sum(call->group, sum, 2 * call->rows) != 0) return 1;

  for (int64_t r = 0; r < call->rows; ++r) {
    if (sum[r] < 0) {
      snprintf(message, message_bytes, "row %lld: a sum of exponentials is negative, %g",
               (long long)call->row_numbers[r], (double)sum[r]);
      return 2;
    }
    const float log_sum = logf(sum[r]);
    call->lse[r] = max[r] + log_sum;
    call->logp[r] = (target[r] - max[r]) - log_sum;
  }
  return 0;
}
