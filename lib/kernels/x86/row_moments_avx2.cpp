// AVX2 with FMA3: x86 CPUs since 2013 (Haswell, Zen).

#include "kernels/row_moments_body.hpp"
#include "kernels/x86/x86_kernels.hpp"

namespace drift::cpu::x86 {

[[gnu::target("avx2,fma"), gnu::flatten]] void row_moments_avx2(const LogitsView& logits, RowMoments* out) {
  row_moments_body(logits, out);
}

[[gnu::target("avx2,fma"), gnu::flatten]] void exp_below_avx2(const float* x, std::int64_t count, float max,
                                                              double* out) {
  exp_below_body(x, count, max, out);
}

}  // namespace drift::cpu::x86
