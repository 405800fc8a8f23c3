#pragma once

// The same stored rows in host memory, for the CPU's kernels, and on the GPU, for ours; and rows worth
// comparing on.

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "backend/devices.hpp"
#include "base/ulp.hpp"
#include "kernels/stored_rows.hpp"
#include "support/catch.hpp"

namespace drift::test {

/// The first GPU's backend; without a GPU nullptr, and a warning that says what was not tested and why.
inline std::unique_ptr<Backend> gpu_or_skip() {
  if (!visible_gpus().empty()) return make_cuda_backend(0);
  WARN("SKIPPED: " << why_no_gpu());
  return nullptr;
}

/// Values in device memory.
template <class T>
Buffer uploaded(Backend& gpu, const std::vector<T>& values) {
  Buffer out = gpu.allocate(static_cast<std::int64_t>(values.size() * sizeof(T)));
  gpu.upload(values.data(), out.data(), out.bytes());
  return out;
}

template <class T>
std::vector<T> downloaded(Backend& gpu, const Buffer& buffer) {
  std::vector<T> out(static_cast<std::size_t>(buffer.bytes()) / sizeof(T));
  gpu.download(buffer.data(), out.data(), buffer.bytes());
  return out;
}

/// Device memory for `count` T, filled with 0xee: what a kernel does not write shows.
template <class T>
Buffer poisoned(Backend& gpu, std::int64_t count) {
  return uploaded(gpu, std::vector<T>(static_cast<std::size_t>(count), [] {
                    T value;
                    std::memset(static_cast<void*>(&value), 0xee, sizeof(T));
                    return value;
                  }()));
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// Largest distance in units in the last place, -1 if one value is NaN and the other is not.
inline std::int64_t worst_ulp(const std::vector<float>& a, const std::vector<float>& b) {
  const auto ordered = [](float x) {
    const auto bits = std::bit_cast<std::int32_t>(x);
    return bits < 0 ? -static_cast<std::int64_t>(bits & 0x7fffffff) : static_cast<std::int64_t>(bits);
  };
  std::int64_t worst = a.size() == b.size() ? 0 : -1;
  for (std::size_t i = 0; i < a.size() && worst >= 0; ++i) {
    if (std::isnan(a[i]) != std::isnan(b[i])) return -1;
    if (!std::isnan(a[i])) worst = std::max(worst, std::abs(ordered(a[i]) - ordered(b[i])));
  }
  return worst;
}

/// StoredRows on the GPU, at the same misalignment.
class GpuRows {
 public:
  GpuRows(Backend& gpu, const StoredRows& host, int misaligned)
      : host_(host.view()), misaligned_(misaligned) {
    const std::int64_t bytes = host_.rows * host_.pitch * host_.bytes_per_element();
    memory_ = gpu.allocate(bytes + misaligned);
    gpu.upload(host_.data, memory_.data() + misaligned, bytes);
  }
  /// `view` of the host's rows, moved to device memory.
  LogitsView operator()(LogitsView view) const {
    view.data = memory_.data() + misaligned_ + (view.data - host_.data);
    return view;
  }

 private:
  LogitsView host_;
  int misaligned_;
  Buffer memory_;
};

using Rows = std::vector<std::vector<float>>;

/// Rows of every kind that a kernel treats differently, without NaN and +inf unless asked for.
inline Rows varied_rows(std::int64_t vocab, std::uint64_t seed, bool with_bad = false) {
  const float inf = std::numeric_limits<float>::infinity();
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0.0f, 1.0f);
  std::vector<float> base(static_cast<std::size_t>(vocab));
  for (float& x : base) x = normal(random);
  const auto mapped = [&](auto f) {
    std::vector<float> row(base.size());
    for (std::size_t c = 0; c < row.size(); ++c) row[c] = f(base[c], c);
    return row;
  };
  Rows rows;
  rows.push_back(mapped([](float x, std::size_t) { return 4 * x; }));        // logits
  rows.push_back(mapped([](float x, std::size_t) { return 4 * x + 300; }));  // all far from zero
  rows.push_back(mapped([](float x, std::size_t) { return 60 * x; }));       // spread over many powers
  rows.push_back(mapped([](float x, std::size_t) { return 9000 * x; }));     // leaf by leaf
  rows.push_back(mapped([&](float x, std::size_t c) { return c % 3 == 1 ? -inf : 4 * x; }));  // masks
  rows.push_back(mapped([&](float x, std::size_t c) { return c % 5 == 2 ? -3e38f : 60 * x; }));
  rows.push_back(mapped([&](float x, std::size_t c) { return c + 7 < base.size() ? -inf : x; }));
  rows.push_back(mapped([](float, std::size_t) { return 0.0f; }));
  rows.push_back(
      mapped([](float, std::size_t c) { return c % 24 == 0 ? 0.0f : -16.625f * static_cast<float>(c % 6); }));
  rows.push_back(mapped([&](float, std::size_t) { return -inf; }));
  rows.push_back(mapped([](float x, std::size_t c) { return c == 1 ? 88.0f : x; }));
  rows.push_back(mapped([](float x, std::size_t) { return -0.0f * (x > 0 ? 1.0f : 2.0f); }));  // all -0
  if (with_bad) {
    rows.push_back(mapped([&](float x, std::size_t c) { return c == base.size() / 2 ? std::nanf("") : x; }));
    rows.push_back(mapped([&](float x, std::size_t c) {
      return c + 1 == base.size() ? inf : c % 2 == 0 ? -3e38f : x;
    }));
    rows.push_back(mapped([&](float x, std::size_t c) { return c > base.size() / 3 ? 1e10f : x; }));
  }
  return rows;
}

/// Column 0, the last, none and some between, in turn.
inline std::vector<std::int64_t> varied_targets(std::int64_t rows, std::int64_t vocab) {
  std::vector<std::int64_t> out;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t choices[] = {0, vocab - 1, -1, r * 7919 % vocab};
    out.push_back(choices[r % 4]);
  }
  return out;
}

inline const Dtype logits_dtypes[] = {Dtype::BF16, Dtype::F16, Dtype::F32, Dtype::F64};

/// Rules for logits stored as `stored`: plain, every temperature order, rounding.
inline std::vector<ValueRule> varied_rules(Dtype stored) {
  std::vector<ValueRule> out{{.stored = stored, .candidate = stored == Dtype::F64 ? Dtype::F32 : stored}};
  for (const TemperatureOrder order :
       {TemperatureOrder::f32, TemperatureOrder::native, TemperatureOrder::reciprocal})
    out.push_back({.stored = stored, .candidate = Dtype::BF16, .order = order, .temperature = 0.7f});
  out.push_back({.stored = stored, .candidate = Dtype::F16});
  out.push_back({.stored = stored, .candidate = Dtype::F32, .temperature = 1.3f});
  return out;
}

/// Calls body(host view, device view, note) for every dtype, rule, width, alignment and shard worth a look.
template <class Body>
void for_every_view(Backend& gpu, bool with_bad, Body body) {
  for (const Dtype stored : logits_dtypes)
    for (const std::int64_t vocab : {1, 31, 257, 2050, 5003}) {
      const Rows rows = varied_rows(vocab, 11, with_bad);
      for (const auto& [padded, misaligned] : {std::pair<std::int64_t, int>{vocab, 1},
                                               {vocab + 5, 0},
                                               {(vocab + 135) / 128 * 128, 0},
                                               {vocab + 3, 4}}) {
        const StoredRows host(stored, rows, padded, misaligned);
        const GpuRows device(gpu, host, misaligned);
        for (const Range columns :
             {Range{0, padded}, Range{vocab / 3, vocab / 2}, Range{vocab / 2, padded}, Range{0, 0}})
          for (const ValueRule& rule : varied_rules(stored)) {
            LogitsView view = host.view(columns);
            view.rule = rule;
            const std::string note =
                std::string(name(stored)) + " vocab " + std::to_string(vocab) + " pitch " +
                std::to_string(padded) + " misaligned " + std::to_string(misaligned) + " columns [" +
                std::to_string(columns.begin) + ", " + std::to_string(columns.end) + ") candidate " +
                std::string(name(rule.candidate)) + " order " + std::to_string(static_cast<int>(rule.order)) +
                " T " + std::to_string(rule.temperature);
            body(view, device(view), note);
          }
      }
    }
}

}  // namespace drift::test
