#include "plugin/default_bound.hpp"

#include <algorithm>
#include <cmath>

#include "base/ulp.hpp"

namespace drift {
namespace {

double log_sum_error(const BoundInput& in) {
  const double log_vocab = std::log(static_cast<double>(in.vocab));
  const auto terms = static_cast<double>((in.widest_shard + 511) / 512);
  return (log_vocab + 4 + terms + 9 + in.tp) * 0x1p-24 + ulp32(log_vocab);
}

double ulp_of_output(Dtype output, double value) {
  switch (output) {
    case Dtype::BF16: return ulp32(value) * 0x1p16;
    case Dtype::F16: return std::max(ulp32(value) * 0x1p13, 0x1p-24);  // its subnormals are 2^-24 apart
    default: return 0;
  }
}

}  // namespace

double default_lse_bound(const BoundInput& in) { return 0.5 * ulp32(in.lse) + log_sum_error(in); }

double default_logp_bound(const BoundInput& in, Dtype output) {
  return ulp32(in.logp) + 0.5 * ulp32(in.lse) + log_sum_error(in) + ulp_of_output(output, in.logp);
}

}  // namespace drift
