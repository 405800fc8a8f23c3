#pragma once

// One pass over the logits for `explain`: what every reading of them gives in each row. The ranks share the
// rows out as they do for the oracle; the survey is gathered on rank 0.

#include <vector>

#include "audit/candidate_pass.hpp"
#include "audit/case.hpp"
#include "audit/inputs.hpp"
#include "audit/kept_rows.hpp"
#include "backend/backend.hpp"
#include "comm/axes.hpp"
#include "explain/explain.hpp"

namespace drift {

/// The readings that are known before anything is fitted: as audited first, then the temperature faults,
/// logits rounded to 16 bits, and the whole vocabulary where the audit truncates it.
std::vector<Variant> known_variants(const Case& run, const Inputs& inputs);

/// A survey without its rows' numbers.
Survey empty_survey(const Case& run, const Inputs& inputs);

/// Fills what the survey's variants `from` and later, and with `from` = 0 also its column picks, shards
/// and argmax, are to hold. Collective over the world of `axes`; rank 0's survey is whole afterwards,
/// the others' are as before.
void survey_rows(Survey& survey, std::size_t from, const Case& run, const DumpFile& dump,
                 const Inputs& inputs, const KeptRows& kept, const Axes& axes, Backend& on,
                 const Progress& progress);

/// Whole rows of the dump, as stored, widened to fp32. Not collective.
std::vector<SampleRow> read_samples(const Case& run, const DumpFile& dump,
                                    const std::vector<std::int64_t>& rows);

}  // namespace drift
