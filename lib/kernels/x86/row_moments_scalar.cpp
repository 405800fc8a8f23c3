// Any x86-64 CPU. fma is the C library's: exact, and slow where the CPU lacks it.

#include "kernels/row_moments_body.hpp"
#include "kernels/x86/x86_kernels.hpp"

namespace drift::cpu::x86 {

void row_moments_scalar(const LogitsView& logits, RowMoments* out) { row_moments_body(logits, out); }

void exp_below_scalar(const float* x, std::int64_t count, float max, double* out) {
  exp_below_body(x, count, max, out);
}

}  // namespace drift::cpu::x86
