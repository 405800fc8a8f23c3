// The oracle on a GPU gives the CPU oracle's bits.

#include "backend/devices.hpp"
#include "oracle/exact_row.hpp"
#include "oracle/oracle.hpp"
#include "support/catch.hpp"

namespace {

struct Bits {
  std::vector<std::uint32_t> lse, logp;
  friend bool operator==(const Bits&, const Bits&) = default;
};

Bits bits_of(const std::vector<float>& lse, const std::vector<float>& logp) {
  Bits out{std::vector<std::uint32_t>(lse.size()), std::vector<std::uint32_t>(logp.size())};
  std::memcpy(out.lse.data(), lse.data(), lse.size() * 4);
  std::memcpy(out.logp.data(), logp.data(), logp.size() * 4);
  return out;
}

Bits on_cpu(const oracle::Rows& rows) {
  std::vector<float> lse(static_cast<std::size_t>(rows.rows)), logp(lse);
  oracle::log_prob_cpu(rows, lse.data(), logp.data());
  return bits_of(lse, logp);
}

Bits on_gpu(drift::Backend& gpu, oracle::Rows rows, std::int64_t bytes) {
  drift::Buffer logits = gpu.allocate(bytes), targets = gpu.allocate(rows.rows * 8),
                lse = gpu.allocate(rows.rows * 4), logp = gpu.allocate(rows.rows * 4);
  gpu.upload(rows.logits, logits.data(), bytes);
  gpu.upload(rows.targets, targets.data(), rows.rows * 8);
  rows.logits = logits.data();
  rows.targets = targets.as<std::int64_t>();
  REQUIRE(oracle::log_prob_cuda(rows, lse.as<float>(), logp.as<float>(), gpu.native_stream()) == 0);
  std::vector<float> host_lse(static_cast<std::size_t>(rows.rows)), host_logp(host_lse);
  gpu.download(lse.data(), host_lse.data(), rows.rows * 4);
  gpu.download(logp.data(), host_logp.data(), rows.rows * 4);
  return bits_of(host_lse, host_logp);
}

}  // namespace

TEST_CASE("oracle_cuda: the GPU gives the CPU's bits for every dtype, rounding and temperature") {
  if (drift::visible_gpus().empty()) {
    WARN("SKIPPED: the oracle's GPU kernel is not compared here: " << drift::why_no_gpu());
    return;
  }
  const auto gpu = drift::make_cuda_backend(0);
  for (const std::int64_t vocab : {1, 31, 1024, 1025, 50257, 151669}) {
    const std::int64_t pitch = vocab + 3, count = 7;
    std::vector<float> values = exact::normal_values(static_cast<std::size_t>(count * pitch), 8.0f, 51);
    const auto row = [&](std::int64_t r) {
      return std::span(values).subspan(static_cast<std::size_t>(r * pitch));
    };
    row(1)[0] = exact::nan;
    std::fill_n(row(2).begin(), vocab, -exact::inf);
    row(3)[static_cast<std::size_t>(vocab / 2)] = 0x1p30f;
    std::fill_n(row(4).begin(), vocab / 2, -1e30f);
    std::fill_n(row(5).begin(), vocab, 0.0f);
    row(5)[0] = 17.0f;
    const std::vector<std::int64_t> targets{vocab - 1, 0, 0, vocab / 2, 0, vocab - 1, -1};
    for (const oracle::Dtype stored : exact::all_dtypes) {
      const exact::Packed packed(values, stored);
      for (const oracle::Dtype rounded :
           {stored, oracle::Dtype::f32, oracle::Dtype::bf16, oracle::Dtype::f16})
        for (const float temperature : {1.0f, 0.7f}) {
          const oracle::Rows rows{packed.data(),  stored, rounded, temperature,
                                  targets.data(), count,  pitch,   vocab};
          INFO("vocab " << vocab << ", stored " << static_cast<int>(stored) << ", rounded "
                        << static_cast<int>(rounded) << ", T " << temperature);
          CHECK(on_gpu(*gpu, rows, static_cast<std::int64_t>(packed.bytes())) == on_cpu(rows));
        }
    }
  }
}

TEST_CASE("oracle_cuda: a build without CUDA answers with an error code") {
  if (!drift::visible_gpus().empty()) return;
  const oracle::Rows one{nullptr, oracle::Dtype::f32, oracle::Dtype::f32, 1.0f, nullptr, 1, 1, 1};
  CHECK(oracle::log_prob_cuda(one, nullptr, nullptr, nullptr) != 0);
}
