// Any x86-64 CPU. fma is the C library's: exact, and slow where the CPU lacks it.

#include "kernels/fused_kernels.hpp"
#include "kernels/x86/x86_kernels.hpp"

namespace drift::cpu::x86 {

void tree_sum_scalar(const LogitsView& logits, const TreePlan& plan, std::int64_t slots, TreeValue* out) {
  tree_sum_body(logits, plan, slots, out);
}

void exp_minus_scalar(const float* x, std::int64_t count, float shift, float* out) {
  exp_minus_body(x, count, shift, out);
}

}  // namespace drift::cpu::x86
