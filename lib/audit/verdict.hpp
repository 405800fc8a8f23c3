#pragma once

// How far a candidate may lie from the oracle, row by row, and whether it does.

#include <span>
#include <vector>

#include "audit/all_rows.hpp"
#include "audit/case.hpp"
#include "report/report.hpp"

namespace drift {

/// Two gates a formula, `candidates.<id>.lse` and `candidates.<id>.logp`: the row that comes closest to its
/// limit, or passes it by most, gives `value` and `limit`.
///
/// derived: E_oracle + E_formula of the row, E_oracle = 0.6 ulp32(value) + 2^-22, ulp32 at the larger of the
/// two values compared. --atol/--rtol: atol + rtol * |oracle|. rl-kernel-ws1: RL-Kernel's forward log-prob
/// tolerance of the candidate's input dtype (f32 1e-5, bf16 6e-2, f16 5e-3), absolute.
std::vector<GateReport> candidate_gates(const Case& run, const AllRows& rows);

}  // namespace drift
