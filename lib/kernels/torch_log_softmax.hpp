#pragma once

#include <cstdint>

#include "kernels/views.hpp"

namespace drift::cpu {

/// Selected log-prob in the order of PyTorch's CUDA log_softmax over an fp32 [n, vocab] tensor, vocab > 9216
/// (aten/src/ATen/native/cuda/SoftMax.cu: cunn_SoftMaxForward, and cunn_SoftMaxForwardSmem where torch picks it).
///
/// Formula  M = max x; S = sum exp(x - M); logp = (x_t - M) - log S; lse = M + log S, each operation fp32, rounded once.
/// Order    1024 threads, vectors of 4. Row r of the tensor starts at byte row_index[r] * vocab * 4; with
///          shift = (that mod 16) / 4 > 0, threads i >= shift first take element i - shift of a head of 1024 - shift
///          elements. Then thread i folds the vectors i, i + 1024, ... ascending into its one accumulator, then the tail
///          one element at a time. Block: shuffle-down 16, 8, 4, 2, 1 in each warp, then the same over the warp results.
///          vocab <= 12255 with vocab % 4 == 0 (rows aligned): vectors only, no head, no tail (the shared-memory variant).
/// -inf     adds 0. NaN propagates as in torch.
/// Bits     equal to torch's on the GPU (its exp is libdevice's expf). On the CPU the same order with exp_minus
///          of instruction_set.hpp and the C library's log: close, not equal.
/// `values` is [rows][vocab], contiguous; row_index[r] is the row's number in the whole (flattened) tensor.
/// logp of a row with targets[r] < 0 is the quiet NaN 0x7fc00000.
void torch_log_softmax(const float* values, std::int64_t rows, std::int64_t vocab, const std::int64_t* row_index,
                       const std::int64_t* targets, RowResult out);

}  // namespace drift::cpu
