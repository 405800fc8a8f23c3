#pragma once

// A problem with known answers, and a formula run over it as the audit does: threads as TP ranks, the CPU's
// memory.

#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "backend/cpu_backend.hpp"
#include "base/float16.hpp"
#include "formulas/formula.hpp"
#include "plugin/plugin.hpp"
#include "support/catch.hpp"
#include "support/thread_world.hpp"

namespace drift::test {

inline std::string example_plugin(const std::string& stem) { return DRIFT_PLUGIN_DIR "/" + stem + ".so"; }
inline std::string faulty_plugin(const std::string& stem) {
  return DRIFT_PLUGIN_DIR "/faulty/" + stem + ".so";
}

struct Shape {
  std::int64_t rows = 6, vocab = 1009, padded = 1024;
  Dtype dtype = Dtype::F32;
  ValueRule rule = {.stored = dtype, .candidate = dtype};
};

/// Stored rows, as bytes; what they are worth is kept beside them.
struct PluginRows {
  explicit PluginRows(const Shape& of) : shape(of) {
    std::mt19937_64 bits(20260301);
    std::normal_distribution<float> normal(0.0f, 3.0f);
    for (std::int64_t i = 0; i < shape.rows * shape.padded; ++i) {
      const bool is_padding = i % shape.padded >= shape.vocab;
      put(is_padding ? 90.0f : i % 97 == 5 ? -std::numeric_limits<float>::infinity() : normal(bits));
    }
    for (std::int64_t r = 0; r < shape.rows; ++r) targets.push_back((r * 337) % shape.vocab / 97 * 97);
    targets[2] = -1;
  }

  std::int64_t element() const { return shape.dtype == Dtype::F64 ? 8 : shape.dtype == Dtype::F32 ? 4 : 2; }
  float value(std::int64_t r, std::int64_t c) const {
    return value_of(widened[static_cast<std::size_t>(r * shape.padded + c)], shape.rule);
  }
  long double exact_lse(std::int64_t r) const {
    long double sum = 0;
    for (std::int64_t c = 0; c < shape.vocab; ++c) sum += std::exp(static_cast<long double>(value(r, c)));
    return std::log(sum);
  }
  /// Columns of every row, packed with a gap between rows.
  std::vector<std::byte> shard(Range columns, std::int64_t pitch) const {
    std::vector<std::byte> out(static_cast<std::size_t>(shape.rows * pitch * element()), std::byte{0x7f});
    for (std::int64_t r = 0; r < shape.rows; ++r)
      std::copy_n(bytes.begin() + (r * shape.padded + columns.begin) * element(), columns.size() * element(),
                  out.begin() + r * pitch * element());
    return out;
  }

  Shape shape;
  std::vector<std::byte> bytes;
  std::vector<float> widened;
  std::vector<std::int64_t> targets;

 private:
  template <class T>
  void append(T stored) {
    const auto raw = std::bit_cast<std::array<std::byte, sizeof(T)>>(stored);
    bytes.insert(bytes.end(), raw.begin(), raw.end());
  }
  void put(float x) {
    switch (shape.dtype) {
      case Dtype::BF16: append(round_bf16(x)), widened.push_back(widen_bf16(round_bf16(x))); break;
      case Dtype::F16: append(round_f16(x)), widened.push_back(widen_f16(round_f16(x))); break;
      case Dtype::F64: append(static_cast<double>(x)), widened.push_back(x); break;
      default: append(x), widened.push_back(x); break;
    }
  }
};

struct Values {
  std::vector<float> lse, logp;
};

/// One TP rank's part. Rows have the numbers first_row, first_row + 1, ... in the dump.
inline Values run_rank(const Formula& formula, const PluginRows& rows, const VocabBounds& bounds,
                       std::int64_t first_row, int rank, Backend& on, Collective& tp) {
  const Range columns = bounds.columns(rank);
  const std::int64_t pitch = columns.size() + 3;
  const std::vector<std::byte> shard = rows.shard(columns, pitch);
  std::vector<std::int64_t> numbers;
  for (std::int64_t r = 0; r < rows.shape.rows; ++r) numbers.push_back(first_row + r);
  Values out{std::vector<float>(numbers.size()), std::vector<float>(numbers.size())};
  formula.run({.logits = {.data = shard.data(),
                          .rows = rows.shape.rows,
                          .pitch = pitch,
                          .columns = columns,
                          .vocab = rows.shape.vocab,
                          .rule = rows.shape.rule},
               .bounds = bounds,
               .targets = rows.targets.data(),
               .row_index = numbers.data(),
               .on = on,
               .tp = tp},
              {out.lse.data(), out.logp.data()});
  return out;
}

/// What each TP rank came to hold.
inline std::vector<Values> run_over(const Formula& formula, const PluginRows& rows, const VocabBounds& bounds,
                                    std::int64_t first_row = 0) {
  std::vector<Values> out(static_cast<std::size_t>(bounds.tp()));
  ThreadWorld(bounds.tp()).run([&](Control& world) {
    const auto on = make_cpu_backend();
    const auto tp = bounds.tp() == 1 ? make_solo_collective(*on) : make_staged_collective(*on, world);
    out[static_cast<std::size_t>(world.rank())] =
        run_rank(formula, rows, bounds, first_row, world.rank(), *on, *tp);
  });
  return out;
}

/// An error that a rank met.
struct Met {
  Fault fault;
  std::string text;
  bool was_interrupted;
};

/// What each rank met; empty where all went well. Ranks do not sound the alarm.
inline std::vector<std::optional<Met>> met_by_ranks(const Formula& formula, int tp, double timeout = 30) {
  const PluginRows rows(Shape{});
  std::vector<std::optional<Met>> out(static_cast<std::size_t>(tp));
  const VocabBounds bounds = even_bounds(1024, tp);
  ThreadWorld(tp, timeout).run([&](Control& world) {
    const auto on = make_cpu_backend();
    const auto group = make_staged_collective(*on, world);
    try {
      run_rank(formula, rows, bounds, 40, world.rank(), *on, *group);
    } catch (const Error& error) {
      const bool was_interrupted = dynamic_cast<const Interrupted*>(&error) != nullptr;
      out[static_cast<std::size_t>(world.rank())] = Met{error.fault(), error.what(), was_interrupted};
    }
  });
  return out;
}

/// |value - exact| as a share of the formula's own bound, of the row that comes closest; infinite for NaN.
struct Closest {
  double lse = 0, logp = 0;
};

inline Closest closest(const Formula& formula, const PluginRows& rows, const VocabBounds& bounds,
                       const Values& got) {
  Closest out;
  const auto share = [](double d, double bound) { return d <= bound * 1e9 ? d / bound : HUGE_VAL; };
  for (std::int64_t r = 0; r < rows.shape.rows; ++r) {
    const auto i = static_cast<std::size_t>(r);
    const long double lse = rows.exact_lse(r);
    BoundInput in{.lse = std::fabs(static_cast<double>(lse)),
                  .vocab = rows.shape.vocab,
                  .widest_shard = bounds.widest(),
                  .tp = bounds.tp()};
    const auto d = static_cast<double>(std::fabs(static_cast<long double>(got.lse[i]) - lse));
    out.lse = std::max(out.lse, share(d, formula.lse_bound(in)));
    if (rows.targets[i] < 0) continue;
    const long double logp = static_cast<long double>(rows.value(r, rows.targets[i])) - lse;
    in.logp = std::fabs(static_cast<double>(logp));
    const auto e = static_cast<double>(std::fabs(static_cast<long double>(got.logp[i]) - logp));
    out.logp = std::max(out.logp, share(e, formula.logp_bound(in)));
  }
  return out;
}

}  // namespace drift::test
