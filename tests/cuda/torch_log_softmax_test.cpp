// Bits that torch gave on a GPU, from the same inputs: made from integers, and real logits.

#include <cstdlib>
#include <fstream>

#include "base/float16.hpp"
#include "cuda/gpu_rows.hpp"
#include "dump/columns.hpp"
#include "dump/dump_file.hpp"
#include "dump/roles.hpp"
#include "kernels/torch_log_softmax.hpp"

namespace drift::test {
namespace {

constexpr std::uint64_t seed = 7;

std::uint64_t splitmix64(std::uint64_t z) {
  z += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

std::int64_t peak(std::int64_t row, std::int64_t vocab) {
  return static_cast<std::int64_t>(splitmix64(((seed + 1) << 40) + static_cast<std::uint64_t>(row)) %
                                   static_cast<std::uint64_t>(vocab));
}

std::int64_t target_of(std::int64_t row, std::int64_t vocab) {
  if (row % 2 == 0) return peak(row, vocab);
  return static_cast<std::int64_t>(splitmix64(((seed + 2) << 40) + static_cast<std::uint64_t>(row)) %
                                   static_cast<std::uint64_t>(vocab));
}

/// [rows][vocab] logits before rounding to a dtype.
std::vector<float> recorded_logits(std::int64_t rows, std::int64_t vocab, bool sharp) {
  std::vector<float> out;
  out.reserve(static_cast<std::size_t>(rows * vocab));
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t col = 0; col < vocab; ++col) {
      const std::uint64_t h = splitmix64((seed << 40) + (static_cast<std::uint64_t>(row) << 20) +
                                         static_cast<std::uint64_t>(col));
      const auto sum =
          static_cast<std::int64_t>((h & 0xffff) + ((h >> 16) & 0xffff) + ((h >> 32) & 0xffff) + (h >> 48));
      const float flat = static_cast<float>(sum - 131070) * 0x1p-14f;
      out.push_back(sharp && col == peak(row, vocab) ? flat + 16.0f : flat);
    }
  return out;
}

std::vector<std::byte> stored_as(Dtype dtype, const std::vector<float>& values) {
  std::vector<std::byte> out(values.size() * (dtype == Dtype::F32 ? 4 : 2));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t bits = stored_bits(dtype, static_cast<double>(values[i]));
    std::memcpy(out.data() + i * (dtype == Dtype::F32 ? 4 : 2), &bits, dtype == Dtype::F32 ? 4 : 2);
  }
  return out;
}

/// pack_values and torch_log_softmax on the GPU over `rows` whole rows of a [rows][pitch] tensor.
std::vector<float> torch_log_probs(Backend& gpu, const std::vector<std::byte>& stored, std::int64_t rows,
                                   std::int64_t pitch, std::int64_t vocab, const ValueRule& rule,
                                   const std::vector<std::int64_t>& targets) {
  const Buffer logits = uploaded(gpu, stored), device_targets = uploaded(gpu, targets);
  std::vector<std::int64_t> index(static_cast<std::size_t>(rows));
  for (std::int64_t r = 0; r < rows; ++r) index[static_cast<std::size_t>(r)] = r;
  const Buffer row_index = uploaded(gpu, index);
  LogitsView view;
  view.data = logits.data();
  view.rows = rows;
  view.pitch = pitch;
  view.columns = {0, pitch};
  view.vocab = vocab;
  view.rule = rule;
  Buffer values = poisoned<float>(gpu, rows * vocab), lse = poisoned<float>(gpu, rows),
         logp = poisoned<float>(gpu, rows);
  gpu.pack_values(view, vocab, values.as<float>());
  gpu.torch_log_softmax(values.as<float>(), rows, vocab, row_index.as<std::int64_t>(),
                        device_targets.as<std::int64_t>(), {lse.as<float>(), logp.as<float>()});
  return downloaded<float>(gpu, logp);
}

}  // namespace

TEST_CASE("cuda torch_log_softmax: close to the CPU, whose exp and log are the C library's") {
  const auto gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  for (const std::int64_t vocab : {9217, 10000, 12252, 12256, 20001}) {
    const Rows rows = varied_rows(vocab, 31);
    const std::vector<float> values = [&] {
      std::vector<float> out;
      for (const auto& row : rows)
        for (const float x : row) out.push_back(judged(x));
      return out;
    }();
    const auto count = static_cast<std::int64_t>(rows.size());
    std::vector<std::int64_t> index, targets = varied_targets(count, vocab);
    for (std::int64_t r = 0; r < count; ++r) index.push_back(r * 3 + 1);
    std::vector<float> lse(rows.size()), logp(rows.size());
    cpu::torch_log_softmax(values.data(), count, vocab, index.data(), targets.data(),
                           {lse.data(), logp.data()});
    const Buffer device = uploaded(*gpu, values), device_index = uploaded(*gpu, index),
                 device_targets = uploaded(*gpu, targets);
    Buffer gpu_lse = poisoned<float>(*gpu, count), gpu_logp = poisoned<float>(*gpu, count);
    gpu->torch_log_softmax(device.as<float>(), count, vocab, device_index.as<std::int64_t>(),
                           device_targets.as<std::int64_t>(), {gpu_lse.as<float>(), gpu_logp.as<float>()});
    const std::vector<float> lse_here = downloaded<float>(*gpu, gpu_lse),
                             logp_here = downloaded<float>(*gpu, gpu_logp);
    INFO("vocab " << vocab);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      INFO("row " << r);
      const auto near = [](float a, float b) {
        if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
        if (std::isinf(a) || std::isinf(b)) return a == b;
        return std::abs(static_cast<double>(a) - static_cast<double>(b)) <=
               8 * 0x1p-24 * 10 +
                   2 * ulp32(static_cast<double>(b));  // log S, at most 10, off by 2 ulp of exp a side
      };
      CHECK(near(lse_here[r], lse[r]));
      CHECK(near(logp_here[r], logp[r]));
    }
  }
}

TEST_CASE("cuda torch_log_softmax: every recorded bit of torch.log_softmax(x.float()), V > 9216", "[large]") {
  const auto gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  const char* path = std::getenv("DRIFT_PEER_BITS");
  if (path == nullptr) {
    WARN("SKIPPED: DRIFT_PEER_BITS does not name the file of recorded bits: torch's were not compared");
    return;
  }
  const DumpFile recorded = DumpFile::open(path);
  int keys = 0;
  for (const std::int64_t vocab : {10007, 32000, 50257, 128256, 151936, 152064, 201088, 262144})
    for (const bool sharp : {false, true}) {
      const std::vector<float> logits = recorded_logits(16, vocab, sharp);
      for (const auto& [dtype, text] :
           {std::pair{Dtype::BF16, "bf16"}, {Dtype::F16, "f16"}, {Dtype::F32, "f32"}}) {
        const std::vector<std::byte> stored = stored_as(dtype, logits);
        for (const std::int64_t rows : {7, 16}) {
          const std::string key = "v" + std::to_string(vocab) + ".t" + std::to_string(rows) +
                                  (sharp ? ".sharp." : ".flat.") + text + ".torch_log_softmax_f32";
          const TensorInfo* tensor = recorded.find(key);
          REQUIRE(tensor != nullptr);
          ++keys;
          const std::vector<float> wanted = read_floats(recorded, *tensor);
          std::vector<std::int64_t> targets;
          for (std::int64_t r = 0; r < rows; ++r) targets.push_back(target_of(r, vocab));
          const std::vector<std::byte> part(stored.begin(),
                                            stored.begin() + rows * vocab * (dtype == Dtype::F32 ? 4 : 2));
          INFO(key);
          CHECK(same_bits(
              torch_log_probs(*gpu, part, rows, vocab, vocab, {.stored = dtype, .candidate = dtype}, targets),
              wanted));
        }
      }
    }
  CHECK(keys == 8 * 2 * 3 * 2);
}

TEST_CASE("cuda torch_log_softmax: every recorded bit of the sampler formula on real logits", "[large]") {
  const auto gpu = gpu_or_skip();
  if (gpu == nullptr) return;
  const char* folder = std::getenv("DRIFT_TEST_DATA");
  if (folder == nullptr) {
    WARN("SKIPPED: DRIFT_TEST_DATA is not set: the real dumps were not looked at");
    return;
  }
  for (const auto& [file, temperature] :
       {std::pair{"rollout-t0.7", 0.7f}, {"rollout-t1.0", 1.0f}, {"rollout-fp32", 1.0f}}) {
    INFO(file);
    const std::string stem = std::string(folder) + "/" + file;
    const DumpFile dump = DumpFile::open(stem + ".safetensors"),
                   expected = DumpFile::open(stem + ".expected.safetensors");
    const Roles roles = find_roles(dump, {});
    const TensorInfo* sampler = expected.find("logprobs_sampler");
    REQUIRE(sampler != nullptr);
    REQUIRE(roles.mask.has_value());
    const std::vector<float> wanted = read_floats(expected, *sampler);
    const std::vector<std::uint8_t> mask = read_mask(dump, *roles.mask);
    const std::vector<std::int64_t> targets = read_integers(dump, roles.targets);
    std::vector<std::byte> stored(static_cast<std::size_t>(roles.logits.bytes));
    dump.read(roles.logits.offset, stored);
    const std::vector<float> here = torch_log_probs(*gpu, stored, roles.rows, roles.padded_vocab, 151669,
                                                    {.stored = roles.logits.dtype,
                                                     .candidate = roles.logits.dtype,
                                                     .order = TemperatureOrder::reciprocal,
                                                     .temperature = temperature},
                                                    targets);
    int active = 0, different = 0;
    for (std::size_t r = 0; r < wanted.size(); ++r) {
      if (mask[r] == 0) continue;
      ++active;
      different += std::bit_cast<std::uint32_t>(here[r]) != std::bit_cast<std::uint32_t>(wanted[r]);
    }
    CHECK(active == (roles.rows == 48 ? 36 : 9));
    CHECK(different == 0);
  }
}

}  // namespace drift::test
