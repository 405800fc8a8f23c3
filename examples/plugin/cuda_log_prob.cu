// A plug-in in CUDA: vocabulary-parallel log-probs, one block a row, everything ordered on the run's stream.
//
//   M   = max over all columns       a kernel, all-reduce max
//   S   = sum of exp(y - M)          a kernel: 512 running sums, halved nine times; all-reduce sum
//   lse = M + log S;  logp = (y_t - M) - log S
//
// Build: nvcc -O3 -arch=native -Xcompiler -fPIC -shared -I lib/plugin examples/plugin/cuda_log_prob.cu -o
// cuda_log_prob.so

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>

#include "drift_plugin.h"

namespace {

constexpr int threads = 512;

__device__ float widen(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ float widen(__half x) { return __half2float(x); }
__device__ float widen(float x) { return x; }

struct Rows {
  drift_plugin_call call;  // by value: kernels read pointers and sizes from it, never its callbacks
  int64_t end;             // of the columns that count
};

template <class T>
__device__ float value_at(const Rows& rows, int64_t row, int64_t column) {
  const drift_plugin_call& call = rows.call;
  float x = widen(static_cast<const T*>(call.logits)[row * call.pitch + (column - call.column_begin)]);
  if (call.temperature != 1.0f)
    x = call.temperature_order == DRIFT_TEMPERATURE_F32 ? __fdiv_rn(x, call.temperature)
                                                        : x * __fdiv_rn(1.0f, call.temperature);
  return x < -0x1p30f ? -INFINITY : x > 0x1p30f ? INFINITY : x;
}

struct Max {
  // NaN wins: fmaxf would lose it.
  __device__ float operator()(float a, float b) const { return a != a ? a : b != b ? b : fmaxf(a, b); }
};
struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};

/// All threads' values folded in halves; the result is in thread 0.
template <class Fold>
__device__ float folded(float mine, Fold fold) {
  __shared__ float parts[threads];
  parts[threadIdx.x] = mine;
  for (unsigned half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) parts[threadIdx.x] = fold(parts[threadIdx.x], parts[threadIdx.x + half]);
  }
  return parts[0];
}

template <class T>
__global__ void row_max(Rows rows, float* max) {
  const int64_t r = blockIdx.x;
  float most = -INFINITY;
  for (int64_t c = rows.call.column_begin + threadIdx.x; c < rows.end; c += threads)
    most = Max()(most, value_at<T>(rows, r, c));
  most = folded(most, Max());
  if (threadIdx.x == 0) max[r] = most;
}

/// sum and, behind all sums, the target's value where this shard owns it.
template <class T>
__global__ void row_sum(Rows rows, const float* max, float* sum) {
  const int64_t r = blockIdx.x;
  float mine = 0;
  for (int64_t c = rows.call.column_begin + threadIdx.x; c < rows.end; c += threads)
    mine += expf(value_at<T>(rows, r, c) - max[r]);
  mine = folded(mine, Sum());
  if (threadIdx.x != 0) return;
  sum[r] = mine;
  const int64_t t = rows.call.targets[r];
  sum[rows.call.rows + r] = t >= rows.call.column_begin && t < rows.end ? value_at<T>(rows, r, t) : 0.0f;
}

__global__ void finish(Rows rows, const float* max, const float* sum) {
  const int64_t r = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (r >= rows.call.rows) return;
  const float log_sum = logf(sum[r]);
  rows.call.lse[r] = max[r] + log_sum;
  rows.call.logp[r] = (sum[rows.call.rows + r] - max[r]) - log_sum;
}

int failed(const char* doing, char* message, size_t message_bytes) {
  const cudaError_t status = cudaGetLastError();
  if (status == cudaSuccess) return 0;
  std::snprintf(message, message_bytes, "starting %s: %s", doing, cudaGetErrorString(status));
  return 2;
}

template <class T>
int log_prob(const drift_plugin_call& call, char* message, size_t message_bytes) {
  const auto stream = static_cast<cudaStream_t>(call.stream);
  const Rows rows{call, call.column_end < call.vocab ? call.column_end : call.vocab};
  const auto blocks = static_cast<unsigned>(call.rows);
  auto* max = static_cast<float*>(call.allocate(call.group, call.rows * 4));
  auto* sum = static_cast<float*>(call.allocate(call.group, call.rows * 8));
  if (max == nullptr || sum == nullptr) return 1;

  row_max<T><<<blocks, threads, 0, stream>>>(rows, max);
  if (const int status = failed("row_max", message, message_bytes)) return status;
  if (call.all_reduce_max(call.group, max, call.rows) != 0) return 1;
  row_sum<T><<<blocks, threads, 0, stream>>>(rows, max, sum);
  if (const int status = failed("row_sum", message, message_bytes)) return status;
  if (call.all_reduce_sum(call.group, sum, 2 * call.rows) != 0) return 1;
  finish<<<(blocks + threads - 1) / threads, threads, 0, stream>>>(rows, max, sum);
  return failed("finish", message, message_bytes);
}

}  // namespace

int drift_plugin_describe(drift_plugin_info* info) {
  info->abi = DRIFT_PLUGIN_ABI;
  info->name = "example-cuda";
  info->summary = "all-reduce max, then all-reduce the sums of exp; fp32, one block a row";
  info->memories = DRIFT_MEMORY_CUDA;
  info->dtypes = DRIFT_DTYPE_BF16 | DRIFT_DTYPE_F16 | DRIFT_DTYPE_F32;
  info->temperature_orders = DRIFT_TEMPERATURE_F32 | DRIFT_TEMPERATURE_RECIPROCAL;
  return 0;
}

int drift_plugin_log_prob(const drift_plugin_call* call, char* message, size_t message_bytes) {
  if (call->rows > 0x7fffffff) {
    std::snprintf(message, message_bytes,
                  "%lld rows are more than a grid has blocks; --rows-per-chunk takes fewer",
                  static_cast<long long>(call->rows));
    return 2;
  }
  switch (call->dtype) {
    case DRIFT_DTYPE_BF16: return log_prob<__nv_bfloat16>(*call, message, message_bytes);
    case DRIFT_DTYPE_F16: return log_prob<__half>(*call, message, message_bytes);
    default: return log_prob<float>(*call, message, message_bytes);
  }
}
