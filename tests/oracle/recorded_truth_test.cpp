// Every row of the real dumps against what another program computed for it in fp64.

#include <cstdlib>
#include <iostream>
#include <string>

#include "base/error.hpp"
#include "dump/dump_file.hpp"
#include "oracle/exact_row.hpp"
#include "oracle/oracle.hpp"
#include "support/catch.hpp"

namespace {

template <class T>
std::vector<T> read(const drift::DumpFile& dump, const char* name) {
  const drift::TensorInfo* tensor = dump.find(name);
  drift::require(tensor != nullptr, drift::Fault::input, std::string(name) + " is not in " + dump.path());
  std::vector<T> out(static_cast<std::size_t>(tensor->bytes) / sizeof(T));
  dump.read(tensor->offset, std::as_writable_bytes(std::span(out)));
  return out;
}

/// By how much the LSE and the target's log-prob may differ because the oracle divides fp32(x) / fp32(T),
/// rounded to fp32, where the file divides x / T in fp64. LSE is convex with softmax p as its slope, so the
/// difference of two LSEs is at most the larger of both rows' sum of p |q32 - q64|.
struct Allowance {
  double lse = 0;
  double logp = 0;
};

Allowance quotients(std::span<const float> stored, double temperature, std::int64_t target) {
  const float divisor = static_cast<float>(temperature);
  double max = -1e300;
  for (const float x : stored) max = std::max(max, static_cast<double>(x) / temperature);
  double sum32 = 0, sum64 = 0, moved32 = 0, moved64 = 0, of_target = 0;
  for (std::size_t v = 0; v < stored.size(); ++v) {
    const double q32 = static_cast<double>(stored[v] / divisor),
                 q64 = static_cast<double>(stored[v]) / temperature;
    const double p32 = std::exp(q32 - max), p64 = std::exp(q64 - max), moved = std::fabs(q32 - q64);
    sum32 += p32;
    sum64 += p64;
    moved32 += p32 * moved;
    moved64 += p64 * moved;
    if (static_cast<std::int64_t>(v) == target) of_target = moved;
  }
  const double lse = std::max(moved32 / sum32, moved64 / sum64);
  return {lse, of_target + lse};
}

/// The file's fp64 sums were made by a parallel reduction in fp64: their own error, generously.
constexpr double file_error = 1e-12;

double excess(float value, double truth, double allowance) {
  const double difference = std::fabs(static_cast<double>(value) - truth);
  const double left = std::max(0.0, difference - allowance - file_error);
  return oracle::fraction_of_bound(value, static_cast<double>(value) + left);
}

}  // namespace

TEST_CASE("oracle: every row of the real dumps is within the bound of the recorded fp64 values") {
  const char* folder = std::getenv("DRIFT_TEST_DATA");
  if (folder == nullptr) {
    WARN("SKIPPED: DRIFT_TEST_DATA is not set: the real dumps were not looked at");
    return;
  }
  for (const std::string stem : {"rollout-t1.0", "rollout-t0.7", "rollout-fp32"}) {
    const auto dump = drift::DumpFile::open(std::string(folder) + "/" + stem + ".safetensors");
    const auto expected = drift::DumpFile::open(std::string(folder) + "/" + stem + ".expected.safetensors");
    const std::int64_t vocab = std::stoll(dump.metadata().at("real_vocab_size"));
    const double temperature = std::stod(dump.metadata().at("temperature"));
    const drift::TensorInfo& logits = *dump.find("logits");
    const std::int64_t pitch = logits.shape.back(), rows = logits.elements / pitch;
    const oracle::Dtype stored =
        logits.dtype == drift::Dtype::BF16 ? oracle::Dtype::bf16 : oracle::Dtype::f32;
    const auto bytes = read<unsigned char>(dump, "logits");
    const auto targets = read<std::int64_t>(dump, "targets");
    const auto lse64 = read<double>(expected, "lse_fp64"), logp64 = read<double>(expected, "logprobs_fp64");
    REQUIRE(targets.size() == static_cast<std::size_t>(rows));
    REQUIRE(lse64.size() == targets.size());
    REQUIRE(logp64.size() == targets.size());

    const oracle::Rows problem{
        bytes.data(), stored, oracle::Dtype::f32, static_cast<float>(temperature), targets.data(), rows,
        pitch,        vocab};
    std::vector<float> lse(targets.size()), logp(targets.size());
    oracle::log_prob_cpu(problem, lse.data(), logp.data());

    double worst = 0, worst_referee = 0, most_allowed = 0, most_seen = 0;
    std::int64_t compared = 0;
    for (std::size_t r = 0; r < targets.size(); ++r) {
      std::vector<float> x(static_cast<std::size_t>(vocab));
      const std::size_t first = r * static_cast<std::size_t>(pitch);
      for (std::size_t v = 0; v < x.size(); ++v) {
        std::uint16_t half = 0;
        if (stored == oracle::Dtype::bf16) std::memcpy(&half, bytes.data() + (first + v) * 2, 2);
        if (stored == oracle::Dtype::f32) std::memcpy(&x[v], bytes.data() + (first + v) * 4, 4);
        if (stored == oracle::Dtype::bf16) x[v] = drift::widen_bf16(half);
      }
      const Allowance allowed = temperature == 1.0 ? Allowance{} : quotients(x, temperature, targets[r]);
      exact::Truth judged{};
      oracle::referee(problem, static_cast<std::int64_t>(r), &judged.lse, &judged.logp);
      most_allowed = std::max({most_allowed, allowed.lse, allowed.logp});
      most_seen = std::max({most_seen, std::fabs(judged.lse - lse64[r]), std::fabs(judged.logp - logp64[r])});
      worst =
          std::max({worst, excess(lse[r], lse64[r], allowed.lse), excess(logp[r], logp64[r], allowed.logp)});
      worst_referee = std::max({worst_referee, oracle::fraction_of_bound(lse[r], judged.lse),
                                oracle::fraction_of_bound(logp[r], judged.logp)});
      ++compared;
    }
    std::cout << stem << ": " << compared << " rows; largest fraction of the bound " << worst
              << " against the file, " << worst_referee
              << " against the referee; fp32 quotients at T = " << temperature << " move a row by "
              << most_seen << " nats at most, " << most_allowed << " allowed\n";
    CHECK(compared == rows);
    CHECK(worst <= 1.0);
    CHECK(worst_referee <= 1.0);
    CHECK(most_seen <= most_allowed + file_error);
  }
}
