// pack_values: one block a row and stretch of columns, one element a thread, so that loads and stores are
// both adjacent. Its counterpart, assemble_rows, is copies alone and needs no kernel
// (backend/cuda_backend.cpp).

#include "kernels/elements.cuh"
#include "kernels/launch.hpp"

namespace drift::cuda {
namespace {

constexpr int threads = 256;

template <Dtype stored, bool plain>
__global__ void kernel(LogitsView logits, std::int64_t pitch, float* out) {
  using Bits = StoredBits<stored>;
  const std::int64_t row = blockIdx.x, count = logits.real().size();
  const std::byte* data = logits.row(row);
  float* packed = out + row * pitch;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.y) * threads + threadIdx.x;
#pragma unroll 4
  for (std::int64_t i = first; i < count; i += static_cast<std::int64_t>(gridDim.y) * threads)
    packed[i] =
        value<stored, plain>(load<Bits>(data + i * static_cast<std::int64_t>(sizeof(Bits))), logits.rule);
}

}  // namespace

void pack_values(const LogitsView& logits, std::int64_t pitch, float* out, cudaStream_t stream) {
  if (logits.rows == 0 || logits.real().empty()) return;
  // Enough blocks a row for few rows to fill the GPU, enough work a thread otherwise.
  const dim3 grid(static_cast<unsigned>(logits.rows), blocks_for(logits.real().size(), threads * 16, 1024));
  for_rule(logits.rule, [&](auto stored, auto plain) {
    kernel<stored.value, plain.value><<<grid, threads, 0, stream>>>(logits, pitch, out);
  });
}

}  // namespace drift::cuda
