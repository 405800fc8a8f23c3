#pragma once

// The kernels whose speed hangs on fused multiply-add, compiled once for every instruction set that this
// program knows, and chosen when it runs. All give the same bits. The rest of the CPU code uses the
// platform's baseline.

#include <span>
#include <string_view>

#include "kernels/row_moments.hpp"
#include "kernels/tree_sum.hpp"
#include "kernels/views.hpp"

namespace drift::cpu {

struct InstructionSet {
  std::string_view name;  ///< "avx512", "avx2", "scalar"; "native" where the baseline has fused multiply-add
  bool (*runs_here)();    ///< whether this CPU has it
  void (*tree_sum)(const LogitsView& logits, const TreePlan& plan, std::int64_t slots, TreeValue* out);
  void (*exp_minus)(const float* x, std::int64_t count, float shift, float* out);
  void (*row_moments)(const LogitsView& logits, RowMoments* out);
  void (*exp_below)(const float* x, std::int64_t count, float max, double* out);
};

/// All that were compiled, fastest first. The last one runs everywhere.
std::span<const InstructionSet> instruction_sets();

/// The fastest that runs here.
const InstructionSet& best_instruction_set();

/// out[i] = exp(x[i] - shift), the difference rounded to fp32, exp within 1.3 ulp. 0 below a difference of
/// -86.6 (where fp32 nears its subnormals), +inf above 88, NaN for NaN.
void exp_minus(const float* x, std::int64_t count, float shift, float* out);

/// out[i] = exp(x[i] - max) in fp64 for x[i] <= max, both finite or x[i] = -inf: relative error <= 2^-52 and
/// that of the difference rounded to fp64. 0 below a difference of -320. The same bits everywhere
/// (moment_math.hpp).
void exp_below(const float* x, std::int64_t count, float max, double* out);

}  // namespace drift::cpu
