#pragma once

#include <cstdint>

/// The oracle: whole rows, the full vocabulary, code of its own. It includes nothing of this project and
/// lives outside its namespace, on purpose: `ctest -L arch` fails if that ever changes.
namespace oracle {

enum class Dtype : std::int32_t { bf16, f16, f32, f64 };

/// Whole rows as they lie in the dump, and how they count.
struct Rows {
  const void* logits;  ///< rows x pitch, row-major, `stored`
  Dtype stored;
  Dtype rounded;      ///< every value is rounded to this dtype first; f32 (or `stored`) rounds nothing
  float temperature;  ///< fp32(x) / temperature, true division, after rounding
  const std::int64_t* targets;  ///< one column a row; -1: none
  std::int64_t rows;
  std::int64_t pitch;  ///< columns from one row to the next
  std::int64_t vocab;  ///< columns that count: [0, vocab)
};

/// Per row, fp32: lse = log sum exp(x), logp = min(0, x_target - LSE). A row with NaN or a value above 2^30,
/// or without any value >= -2^30, gives the quiet NaN for both; a row without target, or whose target is
/// below -2^30, for logp. Values below -2^30 count as -inf. Error of each, against the exact result of the
/// same fp32 values: <= 0.6 ulp32(itself) + 2^-22 nats.
void log_prob_cpu(const Rows&, float* lse, float* logp);
/// The same on a GPU: all pointers in device memory, `stream` is a cudaStream_t. Returns a cudaError_t, 0 if
/// it was queued.
int log_prob_cuda(const Rows&, float* lse, float* logp, void* stream);

/// The referee: one row in fp64 with the C library's exp and log and a compensated sum; the oracle is
/// certified against it. Host memory.
void referee(const Rows&, std::int64_t row, double* lse, double* logp);
/// |value - truth| as a fraction of the bound above.
double fraction_of_bound(float value, double truth);

/// What reports call this implementation.
const char* name();

}  // namespace oracle
