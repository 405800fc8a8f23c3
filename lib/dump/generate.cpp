#include "dump/generate.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/float16.hpp"
#include "base/splitmix64.hpp"
#include "dump/dump_writer.hpp"
#include "topology/shard.hpp"

namespace drift {
namespace {

constexpr std::array<std::string_view, 5> profile_names{"flat", "sharp", "exact", "masked", "fencepost"};
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double hostile = 96;  ///< in padded columns: e^96 swallows every real column
constexpr std::int64_t most_columns = std::int64_t{1} << 28;

double flat(std::uint64_t seed, std::int64_t row, std::int64_t column) {
  const std::uint64_t h =
      splitmix64((seed << 40) + (static_cast<std::uint64_t>(row) << 20) + static_cast<std::uint64_t>(column));
  const std::uint64_t fields = (h & 0xffff) + ((h >> 16) & 0xffff) + ((h >> 32) & 0xffff) + (h >> 48);
  return (static_cast<double>(fields) - 131070.0) * 0x1p-14;
}

/// A column drawn for the row: stream 1 is the peak, stream 2 the target of odd rows.
std::int64_t drawn(const GenerateRequest& request, std::uint64_t stream, std::int64_t row) {
  const std::uint64_t h = splitmix64(((request.seed + stream) << 40) + static_cast<std::uint64_t>(row));
  return static_cast<std::int64_t>(h % static_cast<std::uint64_t>(request.vocab));
}
std::int64_t peak(const GenerateRequest& request, std::int64_t row) { return drawn(request, 1, row); }

double exact_level(std::int64_t row) { return static_cast<double>(row % 17 - 8); }
double exact_peak(std::int64_t row) { return static_cast<double>(8 + 4 * (row / 4 % 8)); }
std::int64_t power_of_two_below(std::int64_t vocab) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(vocab)));
}

double most_negative(Dtype dtype) {
  switch (dtype) {
    case Dtype::BF16: return -0x1.fep127;
    case Dtype::F16: return -65504;
    case Dtype::F32: return -std::numeric_limits<float>::max();
    default: return -std::numeric_limits<double>::max();
  }
}

double exact_value(const GenerateRequest& request, std::int64_t row, std::int64_t column) {
  switch (row % 4) {
    case 0: return exact_level(row);
    case 1: return column == peak(request, row) ? exact_level(row) : -infinity;
    case 2: return column >= request.vocab - power_of_two_below(request.vocab) ? exact_level(row) : -infinity;
    default: return column == peak(request, row) ? exact_peak(row) : 0;
  }
}

/// The real columns of a row, before rounding to the dtype; exact in fp64.
void fill_real(const GenerateRequest& request, std::int64_t row, std::span<double> out) {
  const bool exact = request.profile == Profile::exact;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto column = static_cast<std::int64_t>(i);
    out[i] = exact ? exact_value(request, row, column) : flat(request.seed, row, column);
  }
  if (request.profile == Profile::sharp) out[static_cast<std::size_t>(peak(request, row))] += 16;
  if (request.profile == Profile::masked && row % 4 != 3) {
    const double mask = row % 4 == 0 ? -infinity : row % 4 == 1 ? most_negative(request.dtype) : -0x1p100;
    for (std::size_t i = 1; i < out.size(); i += 3) out[i] = mask;
  }
}

void fill_padding(const GenerateRequest& request, std::span<double> out) {
  std::fill(out.begin(), out.end(), hostile);
  if (request.profile != Profile::masked) return;
  constexpr std::array<double, 3> worst{std::numeric_limits<double>::quiet_NaN(), infinity, -infinity};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = worst[i % 3];
}

bool active(const GenerateRequest& request, std::int64_t row) {
  return request.profile != Profile::masked || row % 5 != 4;
}

/// First and last real columns of every even TP shard, ascending.
std::vector<std::int64_t> fence_posts(const GenerateRequest& request) {
  std::vector<std::int64_t> posts{0, request.vocab - 1};
  for (const int tp : {2, 3, 4, 8})
    for (int rank = 0; rank < tp; ++rank) {
      const Range part = even_part(request.padded_vocab, tp, rank);
      for (const std::int64_t column : {part.begin, part.end - 1})
        if (0 <= column && column < request.vocab) posts.push_back(column);
    }
  std::sort(posts.begin(), posts.end());
  posts.erase(std::unique(posts.begin(), posts.end()), posts.end());
  return posts;
}

std::int64_t target(const GenerateRequest& request, std::span<const std::int64_t> posts, std::int64_t row) {
  const std::int64_t usual = row % 2 == 0 ? peak(request, row) : drawn(request, 2, row);
  switch (request.profile) {
    case Profile::flat:
    case Profile::sharp: return usual;
    case Profile::exact:
      if (row % 4 == 2) return request.vocab - 1;
      return row % 2 == 1 ? peak(request, row) : usual;
    case Profile::masked:
      if (!active(request, row)) return row % 2 == 0 ? -100 : request.vocab + row;
      return usual % 3 == 1 ? usual - 1 : usual;
    case Profile::fencepost: return posts[static_cast<std::size_t>(row) % posts.size()];
  }
  return usual;
}

template <class Stored, class Convert>
void encode(std::span<const double> values, std::span<std::byte> out, Convert convert) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Stored stored = convert(values[i]);
    std::memcpy(out.data() + i * sizeof(Stored), &stored, sizeof(Stored));
  }
}

/// Every value is exact in fp32 or meant for F64 only, so each is rounded once.
void round_to(Dtype dtype, std::span<const double> values, std::span<std::byte> out) {
  switch (dtype) {
    case Dtype::BF16:
      return encode<std::uint16_t>(values, out, [](double v) { return round_bf16(static_cast<float>(v)); });
    case Dtype::F16:
      return encode<std::uint16_t>(values, out, [](double v) { return round_f16(static_cast<float>(v)); });
    case Dtype::F32: return encode<float>(values, out, [](double v) { return static_cast<float>(v); });
    default: return encode<double>(values, out, [](double v) { return v; });
  }
}

void check(const GenerateRequest& request) {
  const auto positive = [](const char* option, std::int64_t seen) {
    require(seen >= 1, Fault::usage,
            std::string(option) + ": seen " + std::to_string(seen) + ", wanted at least 1");
  };
  positive("--rows", request.rows);
  positive("--vocab", request.vocab);
  require(request.padded_vocab >= request.vocab, Fault::usage,
          "--padded-vocab: seen " + std::to_string(request.padded_vocab) + ", wanted at least --vocab, " +
              std::to_string(request.vocab));
  require(request.padded_vocab <= most_columns, Fault::usage,
          "--padded-vocab: seen " + std::to_string(request.padded_vocab) + ", wanted at most " +
              std::to_string(most_columns) + " (a row is held in memory)");
  require(is_logits_dtype(request.dtype), Fault::usage,
          "--dtype: seen " + std::string(name(request.dtype)) + ", wanted BF16, F16, F32 or F64");
  const auto elements =
      checked_mul(static_cast<std::uint64_t>(request.rows) + 64,  // room for the small tensors
                  static_cast<std::uint64_t>(request.padded_vocab) + 64);
  const auto size = elements ? checked_mul(*elements, 8) : elements;
  require(size && *size <= std::numeric_limits<std::int64_t>::max(), Fault::usage,
          "--rows x --padded-vocab does not fit a file");
}

}  // namespace

std::string_view name(Profile profile) { return profile_names[static_cast<std::size_t>(profile)]; }

std::optional<Profile> profile_named(std::string_view name) {
  const auto at = std::find(profile_names.begin(), profile_names.end(), name);
  if (at == profile_names.end()) return std::nullopt;
  return static_cast<Profile>(at - profile_names.begin());
}

void generate(const std::string& path, const GenerateRequest& request) {
  check(request);
  std::vector<TensorSpec> tensors{{"targets", Dtype::I64, {request.rows}},
                                  {"logits", request.dtype, {request.rows, request.padded_vocab}}};
  if (request.profile == Profile::masked) tensors.push_back({"mask", Dtype::BOOL, {request.rows}});
  const std::string how = "drift-audit generate --profile " + std::string(name(request.profile)) +
                          " --seed " + std::to_string(request.seed);
  DumpWriter writer(path, tensors,
                    {{"real_vocab_size", std::to_string(request.vocab)},
                     {"padded_vocab_size", std::to_string(request.padded_vocab)},
                     {"temperature", "1.0"},
                     {"generator", how}});

  const std::vector<std::int64_t> posts = fence_posts(request);
  std::vector<std::int64_t> targets;
  for (std::int64_t row = 0; row < request.rows; ++row) targets.push_back(target(request, posts, row));
  writer.append(std::as_bytes(std::span(targets)));

  std::vector<double> values(static_cast<std::size_t>(request.padded_vocab));
  std::vector<std::byte> stored(values.size() * static_cast<std::size_t>(bytes(request.dtype)));
  const auto real = std::span(values).first(static_cast<std::size_t>(request.vocab));
  fill_padding(request, std::span(values).subspan(real.size()));
  for (std::int64_t row = 0; row < request.rows; ++row) {
    fill_real(request, row, real);
    round_to(request.dtype, values, stored);
    writer.append(stored);
  }
  if (request.profile == Profile::masked) {
    std::vector<std::uint8_t> mask;
    for (std::int64_t row = 0; row < request.rows; ++row) mask.push_back(active(request, row) ? 1 : 0);
    writer.append(std::as_bytes(std::span(mask)));
  }
  writer.commit();
}

double exact_lse(const GenerateRequest& request, std::int64_t row) {
  require(request.profile == Profile::exact, Fault::internal,
          "exact_lse: only the profile exact has a closed form");
  const auto vocab = static_cast<double>(request.vocab);
  switch (row % 4) {
    case 0: return exact_level(row) + std::log(vocab);
    case 1: return exact_level(row);
    case 2: return exact_level(row) + std::log(static_cast<double>(power_of_two_below(request.vocab)));
    default: return exact_peak(row) + std::log1p((vocab - 1) * std::exp(-exact_peak(row)));
  }
}

}  // namespace drift
