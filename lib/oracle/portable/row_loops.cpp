// One compilation for what the compiler is told to build for: aarch64 has vectors and fma in its base.

#include "oracle/row_loops.hpp"

#include "oracle/row_passes.hpp"

namespace oracle {
namespace {

Extent extent_portable(const Rows& rows, const void* row) { return extent_of(rows, row); }
double sum_portable(const Rows& rows, const void* row, float max) { return sum_of(rows, row, max); }

constexpr RowLoops loops[] = {{"portable", extent_portable, sum_portable}};

}  // namespace

std::span<const RowLoops> row_loops() { return loops; }

}  // namespace oracle
