#pragma once

// What a sampler kept of each row: by top-k, top-p and min-p, or as the dump itself says. Log-probs over the
// kept set are those of the same logits with -inf everywhere else, so rows are rewritten between file and
// kernels, and no kernel, formula or oracle knows about it.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "comm/control.hpp"
#include "dump/dump_file.hpp"
#include "kernels/kept_set.hpp"

namespace drift {

struct Case;
struct Inputs;

/// Over the active rows.
struct KeptCounts {
  std::int64_t fewest = 0, most = 0;  ///< columns kept in a row
  std::int64_t boundary_rows = 0;     ///< rows in which fp32 rounding could move the top-p boundary
};

class KeptRows {
 public:
  KeptRows() = default;  ///< everything is kept

  bool keeps_all() const { return !run_; }

  /// -inf over the columns first_column, ... of row `row`, in `stored`, that are not kept. Callable from any
  /// thread.
  void apply(std::int64_t row, std::int64_t first_column, std::span<std::byte> stored) const;

  KeptCounts counts;  ///< rank 0's are those of all ranks

 private:
  friend class KeptSurvey;
  const Case* run_ = nullptr;
  const Inputs* inputs_ = nullptr;
  const DumpFile* dump_ = nullptr;
  std::vector<KeptThreshold> thresholds_;  ///< [rows]; of other CP ranks' rows undefined
  std::vector<std::int64_t> offsets_;      ///< [rows + 1] into kept_ids

  std::vector<std::int64_t> ids(std::int64_t row) const;
  std::vector<std::uint8_t> mask(std::int64_t row) const;
};

/// "top_k 50, top_p 0.9", "kept_ids", "kept_mask": what log-probs are renormalised over.
std::string what_keeps(const Case& run);

/// Looks at this rank's share of its CP group's rows and shares what it found. Collective over `world` and
/// `tp`. Throws Fault::input naming the rows whose target was not kept (such a token cannot have been
/// sampled), and kept sets that are not sets of columns. `run`, `inputs` and `dump` must outlive the result.
KeptRows survey_kept(const Case& run, const DumpFile& dump, const Inputs& inputs, int cp_rank, Control& tp,
                     Control& world, Backend& on);

}  // namespace drift
