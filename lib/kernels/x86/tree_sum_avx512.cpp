// AVX-512: server CPUs since Skylake-X and Zen 4.

#include "kernels/fused_kernels.hpp"
#include "kernels/x86/x86_kernels.hpp"

namespace drift::cpu::x86 {

[[gnu::target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512"), gnu::flatten]] void
tree_sum_avx512(const LogitsView& logits, const TreePlan& plan, std::int64_t slots, TreeValue* out) {
  tree_sum_body(logits, plan, slots, out);
}

[[gnu::target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512"), gnu::flatten]] void
exp_minus_avx512(const float* x, std::int64_t count, float shift, float* out) {
  exp_minus_body(x, count, shift, out);
}

}  // namespace drift::cpu::x86
