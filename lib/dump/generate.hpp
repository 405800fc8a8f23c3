#pragma once

// Synthetic dumps whose every bit follows from integers, so that any program can make the same ones.
//
//   splitmix64(z): z += 0x9E3779B97F4A7C15; z = (z ^ z>>30) * 0xBF58476D1CE4E5B9;
//                  z = (z ^ z>>27) * 0x94D049BB133111EB; z ^ z>>31
//   h(row, col)  = splitmix64(seed<<40 + row<<20 + col)         unsigned 64-bit, wrapping
//   flat(row, col) = (sum of the four 16-bit fields of h - 131070) * 2^-14
//   peak(row)    = splitmix64((seed+1)<<40 + row) mod V         V: the real vocabulary
//   target(row)  = peak(row) in even rows, splitmix64((seed+2)<<40 + row) mod V in odd rows
//
// Values are rounded to nearest even to the dtype. Profiles:
//   flat       flat(row, col)
//   sharp      flat, plus 16 in column peak(row)
//   exact      rows whose LSE has a closed form, by row mod 4, with a = row mod 17 - 8 and k = floor(log2 V):
//              0: every column a                                          LSE = a + log V
//              1: a in column peak(row), -inf elsewhere                   LSE = a
//              2: a in the last 2^k columns, -inf elsewhere               LSE = a + k log 2
//              3: p = 8 + 4 (row/4 mod 8) in column peak(row), 0 elsewhere  LSE = log(e^p + V - 1)
//              targets: the peak in rows 1 and 3, column V - 1 in row 2
//   masked     flat, with every third column (col mod 3 = 1) masked as stacks do it, by row mod 4: -inf, the
//   dtype's most
//              negative number, -2^100 (F16: -inf), not at all; targets moved off those columns; a BOOL
//              tensor `mask` that leaves out the rows with row mod 5 = 4, whose targets are -100 or V + row
//   fencepost  flat; targets walk the first and last columns of every even TP shard for tp = 2, 3, 4, 8
//
// Padded columns hold 96 (masked: NaN, +inf, -inf in turn): who reads them notices.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/dtype.hpp"

namespace drift {

enum class Profile { flat, sharp, exact, masked, fencepost };

std::string_view name(Profile profile);
std::optional<Profile> profile_named(std::string_view name);

struct GenerateRequest {
  std::int64_t rows = 16;
  std::int64_t vocab = 1000;         ///< V, the real vocabulary
  std::int64_t padded_vocab = 1024;  ///< last dimension of the logits
  Dtype dtype = Dtype::BF16;         ///< BF16, F16, F32, F64
  std::uint64_t seed = 7;
  Profile profile = Profile::flat;
};

/// Write logits [rows, padded_vocab], targets I64 [rows], for `masked` also mask BOOL [rows]; memory is a few
/// rows. Throws Fault::usage for a request without meaning, Fault::io if the file cannot be written.
void generate(const std::string& path, const GenerateRequest& request);

/// The closed form above, in nats, for Profile::exact.
double exact_lse(const GenerateRequest& request, std::int64_t row);

}  // namespace drift
