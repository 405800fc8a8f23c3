#pragma once

// The steps of `resolve` that stand in files of their own.

#include <cstdint>
#include <string>
#include <vector>

#include "audit/case.hpp"

namespace drift {

/// --vocab-bounds as they were typed, once they fit: tp + 1 numbers, 0 first, `padded_vocab` last, never
/// falling. Throws Fault::usage.
VocabBounds checked_bounds(const std::vector<std::int64_t>& typed, int tp, std::int64_t padded_vocab);

/// Fills `formulas` and `rejected` from --formula and --require. Throws Fault::usage: unknown id or claim, a
/// named formula that refuses this case or does not claim what is required, none left.
void choose_formulas(Case& out, const std::string& backend);

/// What a candidate divides or multiplies by must be a number too, in the type it is held in. Throws
/// Fault::usage.
void check_order(const ValueRule& rule);

/// Fills `pairs` from --pair, else with every two recorded tensors of a kind. Throws Fault::usage for a name
/// that this run does not have, and for a log-prob against an LSE.
void choose_pairs(Case& out);

/// A warning for every typed option that can change nothing in this case.
void name_idle_options(Case& out);

}  // namespace drift
