#include "stats/noise.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "stats/percentile.hpp"

namespace drift {

Noise noise_of(std::span<const float> candidate, std::span<const float> reference,
               std::span<const float> sigma, std::span<const std::uint8_t> use) {
  require(candidate.size() == reference.size() && candidate.size() == sigma.size() &&
              candidate.size() == use.size(),
          Fault::internal,
          "columns of one comparison have different lengths, seen " + std::to_string(candidate.size()) +
              ", " + std::to_string(reference.size()) + ", " + std::to_string(sigma.size()) + " and " +
              std::to_string(use.size()));
  std::vector<double> multiples, sigmas;
  multiples.reserve(candidate.size());
  sigmas.reserve(candidate.size());
  std::int64_t over = 0;
  for (std::size_t r = 0; r < candidate.size(); ++r) {
    const float c = candidate[r], f = reference[r], s = sigma[r];
    if (!use[r] || !std::isfinite(c) || !std::isfinite(f) || !std::isfinite(s) || s < 0) continue;
    const double magnitude = std::fabs(static_cast<double>(c) - static_cast<double>(f));
    const double multiple = magnitude == 0 ? 0 : magnitude / static_cast<double>(s);  // inf where sigma is 0
    over += multiple > 6;
    multiples.push_back(multiple);
    sigmas.push_back(static_cast<double>(s));
  }
  Noise out;
  out.count = static_cast<std::int64_t>(multiples.size());
  if (out.count == 0) {
    out.sigma_median = out.median = out.p99 = out.max = out.share_over_6 =
        std::numeric_limits<double>::quiet_NaN();
    return out;
  }
  const std::vector<double> ranks = nearest_ranks(multiples, std::array{500, 990, 1000});
  out.median = ranks[0];
  out.p99 = ranks[1];
  out.max = ranks[2];
  out.sigma_median = nearest_ranks(sigmas, std::array{500})[0];
  out.share_over_6 = static_cast<double>(over) / static_cast<double>(out.count);
  return out;
}

}  // namespace drift
