#include "audit/kept_rows.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "audit/chunk_feed.hpp"
#include "audit/inputs.hpp"
#include "audit/options.hpp"
#include "audit/oracle_pass.hpp"
#include "audit/parcel.hpp"
#include "base/error.hpp"
#include "dump/columns.hpp"
#include "dump/text.hpp"
#include "kernels/read_values.hpp"

namespace drift {
namespace {

constexpr float nothing = -std::numeric_limits<float>::infinity();

}  // namespace

/// "top_k 50, top_p 0.9", or the tensors of the dump.
std::string what_keeps(const Case& run) {
  if (run.has_kept_sets) return run.roles.kept_ids ? "kept_ids" : "kept_mask";
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  if (run.truncation.min_p > 0) add("min_p " + to_text(run.truncation.min_p));
  if (run.truncation.top_k > 0) add("top_k " + std::to_string(run.truncation.top_k));
  if (run.truncation.top_p < 1) add("top_p " + to_text(run.truncation.top_p));
  return out;
}

std::vector<std::int64_t> KeptRows::ids(std::int64_t row) const {
  const TensorInfo& tensor = *run_->roles.kept_ids;
  TensorInfo part = tensor;
  const std::int64_t first = offsets_[static_cast<std::size_t>(row)];
  part.elements = offsets_[static_cast<std::size_t>(row) + 1] - first;
  part.offset += first * bytes(tensor.dtype);
  part.bytes = part.elements * bytes(tensor.dtype);
  std::vector<std::int64_t> out = read_integers(*dump_, part);
  if (!run_->roles.kept_offsets) std::erase_if(out, [](std::int64_t id) { return id < 0; });  // filler
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  require(out.empty() || (out.front() >= 0 && out.back() < run_->vocab), Fault::input,
          dump_->shown_path() + ": " + describe(tensor) + ": row " + std::to_string(row) + " keeps column " +
              std::to_string(out.empty()       ? 0
                             : out.front() < 0 ? out.front()
                                               : out.back()) +
              ", wanted columns in [0, " + std::to_string(run_->vocab) + ")");
  return out;
}

std::vector<std::uint8_t> KeptRows::mask(std::int64_t row) const {
  TensorInfo part = *run_->roles.kept_mask;
  const std::int64_t width = part.shape.back();
  part.offset += row * width;  // one byte an element
  part.elements = part.bytes = width;
  return read_mask(*dump_, part);
}

void KeptRows::apply(std::int64_t row, std::int64_t first_column, std::span<std::byte> stored) const {
  if (keeps_all()) return;
  const Dtype dtype = run_->candidate.stored;
  if (!thresholds_.empty()) {
    const ValueRule rule = rule_of_row(*inputs_, oracle_rule(*run_), row);
    drop_below(thresholds_[static_cast<std::size_t>(row)], rule, first_column, run_->vocab, stored);
  } else if (run_->roles.kept_ids) {
    drop_others(ids(row), dtype, first_column, stored, run_->vocab);
  } else {
    std::vector<std::int64_t> kept;
    const std::vector<std::uint8_t> marks = mask(row);
    for (std::size_t v = 0; v < marks.size(); ++v)
      if (marks[v]) kept.push_back(static_cast<std::int64_t>(v));
    drop_others(kept, dtype, first_column, stored, run_->vocab);
  }
}

class KeptSurvey {
 public:
  KeptSurvey(const Case& run, const DumpFile& dump, const Inputs& inputs, int cp_rank, int tp_rank)
      : run_(run), inputs_(inputs), rows_(oracle_rows(run, cp_rank, tp_rank)), cp_rank_(cp_rank) {
    kept_.run_ = &run;
    kept_.inputs_ = &inputs;
    kept_.dump_ = &dump;
    kept_.counts.fewest = std::numeric_limits<std::int64_t>::max();
  }

  /// Top-k, top-p and min-p: one look at every row of this rank's share.
  void find_thresholds(Backend& on, Control& tp) {
    ChunkFeed feed(*kept_.dump_, run_.roles, on,
                   {.rows = rows_, .columns = {0, run_.vocab}, .rows_per_chunk = run_.rows_per_chunk});
    std::vector<KeptThreshold> mine;
    std::vector<float> values(static_cast<std::size_t>(run_.vocab));
    while (const auto chunk = feed.next()) {
      const std::byte* data = chunk->host;
      for (const std::int64_t row : row_numbers(chunk->rows)) {
        cpu::read_values(rule_of_row(inputs_, oracle_rule(run_), row), data, run_.vocab, values.data());
        data += chunk->pitch * bytes(run_.candidate.stored);
        mine.push_back(kept_threshold(values, run_.truncation));
        const std::int64_t target = inputs_.targets[static_cast<std::size_t>(row)];
        const float value = target < 0 ? nothing : values[static_cast<std::size_t>(target)];
        // A target at -inf or NaN was never there to be dropped: the census locates it.
        count(row, mine.back().kept, mine.back().at_boundary != 0,
              target >= 0 && (!(value > nothing) || mine.back().keeps(value, target)));
      }
    }
    share(mine, tp);
  }

  void read_sets() {
    const Roles& roles = run_.roles;
    if (roles.kept_ids) read_offsets();
    for (const std::int64_t row : row_numbers(rows_)) {
      const std::int64_t target = inputs_.targets[static_cast<std::size_t>(row)];
      if (roles.kept_ids) {
        const std::vector<std::int64_t> ids = kept_.ids(row);
        count(row, static_cast<std::int64_t>(ids.size()), false,
              std::binary_search(ids.begin(), ids.end(), target));
      } else {
        const std::vector<std::uint8_t> marks = kept_.mask(row);
        const bool has = target >= 0 && target < static_cast<std::int64_t>(marks.size()) &&
                         marks[static_cast<std::size_t>(target)];
        const auto real =
            marks.begin() + std::min<std::int64_t>(static_cast<std::int64_t>(marks.size()), run_.vocab);
        count(row, std::count(marks.begin(), real, 1), false, has);
      }
    }
  }

  /// The share of every rank is known everywhere, or the run ends here.
  KeptRows finish(Control& world) {
    ParcelWriter mine;
    mine.put_value(kept_.counts);
    mine.put(lost_);
    ParcelWriter all;
    std::vector<std::int64_t> lost;
    KeptCounts counts{.fewest = std::numeric_limits<std::int64_t>::max()};
    for (const auto& bytes : world.gather(mine.bytes())) {
      ParcelReader reader(bytes);
      const auto other = reader.take_value<KeptCounts>();
      counts.fewest = std::min(counts.fewest, other.fewest);
      counts.most = std::max(counts.most, other.most);
      counts.boundary_rows += other.boundary_rows;
      const std::vector<std::int64_t> rows = reader.take<std::int64_t>();
      lost.insert(lost.end(), rows.begin(), rows.end());
    }
    std::sort(lost.begin(), lost.end());
    all.put(lost);
    const auto shared = world.broadcast(all.bytes());
    refuse_lost(ParcelReader(shared).take<std::int64_t>());
    kept_.counts = counts;
    return std::move(kept_);
  }

 private:
  void count(std::int64_t row, std::int64_t kept, bool at_boundary, bool keeps_target) {
    if (!inputs_.active[static_cast<std::size_t>(row)]) return;
    kept_.counts.fewest = std::min(kept_.counts.fewest, kept);
    kept_.counts.most = std::max(kept_.counts.most, kept);
    kept_.counts.boundary_rows += at_boundary;
    if (!keeps_target) lost_.push_back(row);
  }

  /// Tokens that cannot have been sampled: every rank says the same of the rows of all.
  void refuse_lost(const std::vector<std::int64_t>& lost) const {
    if (lost.empty()) return;
    constexpr std::size_t named = 16;
    std::string rows;
    for (std::size_t i = 0; i < std::min(named, lost.size()); ++i)
      rows += (rows.empty() ? "" : ", ") + std::to_string(lost[i]);
    const bool one = lost.size() == 1;
    throw Error(
        Fault::input,
        (one ? "the target of 1 active row is"
             : "the targets of " + std::to_string(lost.size()) + " active rows are") +
            " outside the kept set of " + what_keeps(run_) +
            " (a token that was not kept cannot have been sampled; wrong top-k, top-p, min-p, temperature " +
            "or shift?): " + (one ? "row " : "rows ") + rows + (lost.size() > named ? ", ..." : ""));
  }

  void read_offsets() {
    const Roles& roles = run_.roles;
    if (roles.kept_offsets) {
      kept_.offsets_ = read_integers(*kept_.dump_, *roles.kept_offsets);
      const bool rises = std::is_sorted(kept_.offsets_.begin(), kept_.offsets_.end());
      require(rises && kept_.offsets_.front() == 0 && kept_.offsets_.back() == roles.kept_ids->elements,
              Fault::input,
              kept_.dump_->shown_path() + ": " + describe(*roles.kept_offsets) + " does not cut " +
                  describe(*roles.kept_ids) + " into rows, wanted numbers that never fall, 0 first and " +
                  std::to_string(roles.kept_ids->elements) + " last");
      return;
    }
    const std::int64_t each = roles.kept_ids->elements / roles.rows;
    for (std::int64_t row = 0; row <= roles.rows; ++row) kept_.offsets_.push_back(row * each);
  }

  /// The thresholds of all rows of this TP group, on each of its ranks.
  void share(std::vector<KeptThreshold> mine, Control& tp) {
    kept_.thresholds_.resize(static_cast<std::size_t>(run_.roles.rows));
    const std::int64_t widest =
        drift::count(oracle_rows(run_, cp_rank_, 0));  // the first part is never shorter
    mine.resize(static_cast<std::size_t>(widest));
    std::vector<KeptThreshold> all(static_cast<std::size_t>(widest * tp.size()));
    tp.all_gather(mine.data(), all.data(), widest * static_cast<std::int64_t>(sizeof(KeptThreshold)));
    for (int rank = 0; rank < tp.size(); ++rank) {
      auto from = all.begin() + rank * widest;
      for (const std::int64_t row : row_numbers(oracle_rows(run_, cp_rank_, rank)))
        kept_.thresholds_[static_cast<std::size_t>(row)] = *from++;
    }
  }

  const Case& run_;
  const Inputs& inputs_;
  std::vector<Range> rows_;
  int cp_rank_;
  KeptRows kept_;
  std::vector<std::int64_t> lost_;  ///< active rows of this rank whose target was not kept
};

KeptRows survey_kept(const Case& run, const DumpFile& dump, const Inputs& inputs, int cp_rank, Control& tp,
                     Control& world, Backend& on) {
  if (run.truncation.is_off() && !run.has_kept_sets) return {};
  KeptSurvey survey(run, dump, inputs, cp_rank, tp.rank());
  if (run.has_kept_sets)
    survey.read_sets();
  else
    survey.find_thresholds(on, tp);
  return survey.finish(world);
}

}  // namespace drift
