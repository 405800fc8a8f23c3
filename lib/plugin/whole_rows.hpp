#pragma once

// Shards put together again, as stored, for kernels that want every column of a row.

#include "formulas/formula.hpp"

namespace drift {

struct WholeRows {
  Buffer memory;
  LogitsView logits;  ///< [rows][padded vocabulary], packed, in `memory`
};

/// Collective over in.tp. Takes twice the rows' bytes of backend memory while it runs, once after.
WholeRows gather_whole_rows(const FormulaInput& in);

}  // namespace drift
