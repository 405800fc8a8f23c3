#include "kernels/instruction_set.hpp"

namespace drift::cpu {

const InstructionSet& best_instruction_set() {
  static const InstructionSet& best = []() -> const InstructionSet& {
    for (const InstructionSet& set : instruction_sets())
      if (set.runs_here()) return set;
    return instruction_sets().back();
  }();
  return best;
}

void exp_minus(const float* x, std::int64_t count, float shift, float* out) {
  best_instruction_set().exp_minus(x, count, shift, out);
}

void exp_below(const float* x, std::int64_t count, float max, double* out) {
  best_instruction_set().exp_below(x, count, max, out);
}

void tree_sum(const LogitsView& logits, const TreePlan& plan, std::int64_t slots, TreeValue* out) {
  best_instruction_set().tree_sum(logits, plan, slots, out);
}

}  // namespace drift::cpu
