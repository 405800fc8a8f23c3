#include "stats/strata.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>

#include "base/error.hpp"

namespace drift {
namespace {

/// One bin as it fills.
struct Bin {
  std::int64_t count = 0, mismatches = 0;
  double sum = 0, sum_abs = 0, squares = 0, max_abs = 0;

  void add(double d, double magnitude) {
    ++count;
    mismatches += d != 0;
    sum += d;
    sum_abs += magnitude;
    squares += d * d;
    max_abs = std::max(max_abs, magnitude);
  }
};

using Names = std::string (*)(std::size_t);

Strata table(const char* by, std::span<const Bin> bins, Names name) {
  Strata out;
  out.by = by;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    const Bin& bin = bins[i];
    if (bin.count == 0) continue;
    const auto n = static_cast<double>(bin.count);
    out.strata.push_back({name(i), bin.count, bin.mismatches, bin.sum / n, bin.sum_abs / n,
                          std::sqrt(bin.squares / n), bin.max_abs});
  }
  return out;
}

// Edges are fp32, as the values are: what was written as 0.1 lies at the edge, which belongs to the bin
// below.
constexpr std::array<float, 7> logp_edges{0.01f, 0.1f, 1.0f, 2.0f, 5.0f, 10.0f, 20.0f};

std::size_t logp_bin(float reference) {
  const float magnitude = std::fabs(reference);
  std::size_t bin = 0;
  for (const float edge : logp_edges) bin += magnitude > edge;
  return bin;
}

std::string logp_name(std::size_t bin) {
  static constexpr std::array names{"0..0.01", "0.01..0.1", "0.1..1", "1..2",
                                    "2..5",    "5..10",     "10..20", ">20"};
  return names[bin];
}

/// 0, 1, 2..3, 4..7, ...
std::size_t power_bin(std::int64_t value) {
  return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(value)));
}

std::string power_name(std::size_t bin) {
  if (bin <= 1) return std::to_string(bin);
  const std::uint64_t first = std::uint64_t{1} << (bin - 1);
  return std::to_string(first) + ".." + std::to_string(2 * (first - 1) + 1);
}

constexpr std::int64_t last_segment = 16;

std::string segment_name(std::size_t bin) {
  return bin < last_segment ? std::to_string(bin) : std::to_string(last_segment) + " and later";
}

std::string owner_name(std::size_t bin) { return "tp " + std::to_string(bin); }
std::string chunk_name(std::size_t bin) { return "chunk " + std::to_string(bin); }

/// Room for every rank or chunk that occurs; -1 stands for none.
std::vector<Bin> bins_for(std::span<const std::int32_t> values) {
  constexpr std::int32_t most = 1 << 20;
  std::int32_t largest = -1;
  for (const std::int32_t value : values) largest = std::max(largest, value);
  require(largest < most, Fault::internal,
          "a TP rank or CP chunk is out of bounds, seen " + std::to_string(largest) + ", wanted less than " +
              std::to_string(most));
  return std::vector<Bin>(static_cast<std::size_t>(largest + 1));
}

class Pass {
 public:
  explicit Pass(const StrataInput& input)
      : in_(input), owner_(bins_for(input.owner)), chunk_(bins_for(input.cp_chunk)) {}

  void sequence(Range rows) {
    std::int64_t segment = -1;
    Range run{rows.begin, rows.begin};  // the active run that the row is in, or the last one before it
    for (std::int64_t r = rows.begin; r < rows.end; ++r) {
      const auto i = static_cast<std::size_t>(r);
      if (in_.active[i] && r >= run.end) {
        run = {r, r + 1};
        while (run.end < rows.end && in_.active[static_cast<std::size_t>(run.end)]) ++run.end;
        ++segment;
      }
      const float candidate = in_.candidate[i], reference = in_.reference[i];
      if (!in_.use[i] || !std::isfinite(candidate) || !std::isfinite(reference)) continue;
      const double d = static_cast<double>(candidate) - static_cast<double>(reference),
                   magnitude = std::fabs(d);
      logp_[logp_bin(reference)].add(d, magnitude);
      position_[power_bin(r - rows.begin)].add(d, magnitude);
      sequence_edge_[power_bin(std::min(r - rows.begin, rows.end - 1 - r))].add(d, magnitude);
      if (in_.active[i]) {
        mask_edge_[power_bin(std::min(r - run.begin, run.end - 1 - r))].add(d, magnitude);
        segment_[static_cast<std::size_t>(std::min(segment, last_segment))].add(d, magnitude);
      }
      if (!owner_.empty() && in_.owner[i] >= 0)
        owner_[static_cast<std::size_t>(in_.owner[i])].add(d, magnitude);
      if (!chunk_.empty() && in_.cp_chunk[i] >= 0)
        chunk_[static_cast<std::size_t>(in_.cp_chunk[i])].add(d, magnitude);
    }
  }

  std::vector<Strata> result() const {
    std::vector<Strata> out{table("logp", logp_, logp_name), table("position", position_, power_name),
                            table("mask_edge", mask_edge_, power_name),
                            table("sequence_edge", sequence_edge_, power_name),
                            table("segment", segment_, segment_name)};
    if (!in_.owner.empty()) out.push_back(table("owner_tp_rank", owner_, owner_name));
    if (!in_.cp_chunk.empty()) out.push_back(table("cp_chunk", chunk_, chunk_name));
    return out;
  }

 private:
  const StrataInput& in_;
  std::array<Bin, logp_edges.size() + 1> logp_;
  std::array<Bin, 64> position_, mask_edge_, sequence_edge_;
  std::array<Bin, last_segment + 1> segment_;
  std::vector<Bin> owner_, chunk_;
};

}  // namespace

std::vector<Strata> strata_of(const StrataInput& input) {
  const std::size_t rows = input.candidate.size();
  const auto fits = [&](std::size_t size) { return size == rows || size == 0; };
  require(input.reference.size() == rows && input.use.size() == rows && input.active.size() == rows &&
              fits(input.owner.size()) && fits(input.cp_chunk.size()),
          Fault::internal,
          "columns of one comparison have different lengths, wanted " + std::to_string(rows) + " rows each");
  Pass pass(input);
  std::int64_t covered = 0;
  for (const Range& sequence : input.sequences) {
    require(sequence.begin == covered && sequence.end >= covered &&
                static_cast<std::uint64_t>(sequence.end) <= rows,
            Fault::internal,
            "sequences do not follow each other, seen one from row " + std::to_string(sequence.begin) +
                ", wanted row " + std::to_string(covered));
    covered = sequence.end;
    pass.sequence(sequence);
  }
  require(static_cast<std::uint64_t>(covered) == rows, Fault::internal,
          "sequences do not cover all rows, seen " + std::to_string(covered) + " of " + std::to_string(rows));
  return pass.result();
}

}  // namespace drift
