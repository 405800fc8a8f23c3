//   rows gathered: every rank gets the whole real vocabulary
//   M = max_v x_v;  S = sum_v exp(x_v - M);  logp = (x_target - M) - log S;  LSE = M + log S
//
// torch.log_softmax(logits.float(), -1) on CUDA, selected at the target: the sampler formula of vLLM V1 and of verl.
// The order of S is torch's (kernels/torch_log_softmax.hpp), so on a GPU the bits are torch's.

#include <cmath>

#include "base/ulp.hpp"
#include "formulas/formula.hpp"

namespace drift {
namespace {

constexpr std::int64_t smallest_vocab = 9217;  // up to 9216 torch keeps rows in registers, in another order

std::string refuses(const FormulaRun& run) {
  if (run.vocab >= smallest_vocab) return {};
  return "torch sums rows of up to 9216 columns in another order (the bits would not be torch's): the vocabulary has " +
         std::to_string(run.vocab) + " columns";
}

void run(const FormulaInput& in, RowResult out) {
  const std::int64_t rows = in.logits.rows, pitch = std::max<std::int64_t>(in.bounds.widest(), 1);
  const std::int64_t block = rows * pitch * 4;
  Buffer mine = in.on.allocate(block);
  Buffer all = in.on.allocate(block * in.tp.size());
  Buffer whole = in.on.allocate(rows * in.logits.vocab * 4);
  in.on.pack_values(in.logits, pitch, mine.as<float>());
  in.tp.all_gather(mine.data(), all.data(), block);
  in.on.assemble_rows(all.as<float>(), in.bounds.bounds, rows, pitch, in.logits.vocab, whole.as<float>());
  in.on.torch_log_softmax(whole.as<float>(), rows, in.logits.vocab, in.row_index, in.targets, out);
}

// As megatron-unfused, with 1024 running sums over the whole row, a head, a tail, and two times five levels.
double log_sum_error(const BoundInput& in) {
  const double log_vocab = std::log(static_cast<double>(in.vocab));
  const auto terms = static_cast<double>((in.vocab + 1023) / 1024 + 8);
  return (log_vocab + 4 + terms + 10) * 0x1p-24 + ulp32(log_vocab);
}

const Registered entry{{
    .id = "torch-log-softmax-f32",
    .summary = "whole rows, torch's CUDA log_softmax order in fp32; V > 9216",
    .used_by = "vLLM V1 sampler, verl sampler formula, Megatron inference, SGLang greedy",
    .claims = {.tp = true,
               .bounds = true,
               .padded_width = true,
               .chunking = true,
               .origin = "torch.log_softmax(x.float(), -1) on CUDA, torch >= 2.1, V > 9216"},
    .reduction = {.merge = "all_gather of F32 values",
                  .acc_dtype = "F32",
                  .order = "1024 threads, vectors of 4, shuffle-down trees (torch cunn_SoftMaxForward)",
                  .downcast_at = "every operation rounds to F32"},
    .refuses = refuses,
    .lse_bound = [](const BoundInput& in) { return 0.5 * ulp32(in.lse) + log_sum_error(in); },
    .logp_bound = [](const BoundInput& in) { return ulp32(in.logp) + log_sum_error(in); },
    .run = run,
}};

}  // namespace
}  // namespace drift
