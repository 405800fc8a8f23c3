// AVX2 with FMA3: x86 CPUs since 2013 (Haswell, Zen).

#include "kernels/fused_kernels.hpp"
#include "kernels/x86/x86_kernels.hpp"

namespace drift::cpu::x86 {

[[gnu::target("avx2,fma"), gnu::flatten]] void tree_sum_avx2(const LogitsView& logits, const TreePlan& plan,
                                                             std::int64_t slots, TreeValue* out) {
  tree_sum_body(logits, plan, slots, out);
}

[[gnu::target("avx2,fma"), gnu::flatten]] void exp_minus_avx2(const float* x, std::int64_t count, float shift,
                                                              float* out) {
  exp_minus_body(x, count, shift, out);
}

}  // namespace drift::cpu::x86
