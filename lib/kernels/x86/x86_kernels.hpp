#pragma once

// The kernels of instruction_set.hpp, once for each x86 instruction set.

#include "kernels/row_moments.hpp"
#include "kernels/tree_sum.hpp"
#include "kernels/views.hpp"

namespace drift::cpu::x86 {

void tree_sum_avx512(const LogitsView& logits, const TreePlan& plan, std::int64_t slots, TreeValue* out);
void exp_minus_avx512(const float* x, std::int64_t count, float shift, float* out);
void row_moments_avx512(const LogitsView& logits, RowMoments* out);
void exp_below_avx512(const float* x, std::int64_t count, float max, double* out);
void tree_sum_avx2(const LogitsView& logits, const TreePlan& plan, std::int64_t slots, TreeValue* out);
void exp_minus_avx2(const float* x, std::int64_t count, float shift, float* out);
void row_moments_avx2(const LogitsView& logits, RowMoments* out);
void exp_below_avx2(const float* x, std::int64_t count, float max, double* out);
void tree_sum_scalar(const LogitsView& logits, const TreePlan& plan, std::int64_t slots, TreeValue* out);
void exp_minus_scalar(const float* x, std::int64_t count, float shift, float* out);
void row_moments_scalar(const LogitsView& logits, RowMoments* out);
void exp_below_scalar(const float* x, std::int64_t count, float max, double* out);

}  // namespace drift::cpu::x86
