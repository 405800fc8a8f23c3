// AVX-512: server CPUs since Skylake-X and Zen 4.

#include "kernels/row_moments_body.hpp"
#include "kernels/x86/x86_kernels.hpp"

namespace drift::cpu::x86 {

[[gnu::target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512"), gnu::flatten]] void
row_moments_avx512(const LogitsView& logits, RowMoments* out) {
  row_moments_body(logits, out);
}

[[gnu::target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512"), gnu::flatten]] void
exp_below_avx512(const float* x, std::int64_t count, float max, double* out) {
  exp_below_body(x, count, max, out);
}

}  // namespace drift::cpu::x86
