// CPUs other than x86: the baseline (aarch64's has fused multiply-add and vectors) is all there is.

#include <array>

#include "kernels/fused_kernels.hpp"
#include "kernels/instruction_set.hpp"
#include "kernels/row_moments_body.hpp"

namespace drift::cpu {
namespace {

bool always() { return true; }

constexpr std::array<InstructionSet, 1> sets{
    {{"native", always, tree_sum_body, exp_minus_body, row_moments_body, exp_below_body}}};

}  // namespace

std::span<const InstructionSet> instruction_sets() { return sets; }

}  // namespace drift::cpu
