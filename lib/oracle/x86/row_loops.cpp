// Three compilations of the same loops for x86-64; the widest that the processor has is used.

#include "oracle/row_loops.hpp"

#include "oracle/row_passes.hpp"

namespace oracle {
namespace {

[[gnu::target("avx512f,avx512vl,avx512bw,avx512dq,prefer-vector-width=512")]] Extent extent_avx512(
    const Rows& rows, const void* row) {
  return extent_of(rows, row);
}
[[gnu::target("avx512f,avx512vl,avx512bw,avx512dq,prefer-vector-width=512")]] double sum_avx512(
    const Rows& rows, const void* row, float max) {
  return sum_of(rows, row, max);
}
[[gnu::target("avx2,fma")]] Extent extent_avx2(const Rows& rows, const void* row) {
  return extent_of(rows, row);
}
[[gnu::target("avx2,fma")]] double sum_avx2(const Rows& rows, const void* row, float max) {
  return sum_of(rows, row, max);
}
// Without an fma instruction the C library's exact fma is called: right, and slow.
Extent extent_sse2(const Rows& rows, const void* row) { return extent_of(rows, row); }
double sum_sse2(const Rows& rows, const void* row, float max) { return sum_of(rows, row, max); }

constexpr RowLoops fastest_first[] = {
    {"avx512", extent_avx512, sum_avx512}, {"avx2", extent_avx2, sum_avx2}, {"sse2", extent_sse2, sum_sse2}};

int widest() {
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
  return avx2 && avx512 ? 0 : avx2 ? 1 : 2;
}

}  // namespace

std::span<const RowLoops> row_loops() {
  static const int first = widest();
  return std::span(fastest_first).subspan(static_cast<std::size_t>(first));
}

}  // namespace oracle
