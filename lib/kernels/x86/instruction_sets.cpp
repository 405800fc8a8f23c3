// What x86 has, asked at run time, so that one program runs on every x86-64 CPU.

#include <array>

#include "kernels/instruction_set.hpp"
#include "kernels/x86/x86_kernels.hpp"

namespace drift::cpu {
namespace {

bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("fma");
}
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool always() { return true; }

constexpr std::array<InstructionSet, 3> sets{{
    {"avx512", has_avx512, x86::tree_sum_avx512, x86::exp_minus_avx512, x86::row_moments_avx512,
     x86::exp_below_avx512},
    {"avx2", has_avx2, x86::tree_sum_avx2, x86::exp_minus_avx2, x86::row_moments_avx2, x86::exp_below_avx2},
    {"scalar", always, x86::tree_sum_scalar, x86::exp_minus_scalar, x86::row_moments_scalar,
     x86::exp_below_scalar},
}};

}  // namespace

std::span<const InstructionSet> instruction_sets() { return sets; }

}  // namespace drift::cpu
