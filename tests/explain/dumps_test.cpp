// Real dumps: what PyTorch and a rollout recorded for them is named for what it is.

#include <cstdlib>

#include "dump/columns.hpp"
#include "dump/dump_file.hpp"
#include "dump/widen.hpp"
#include "explain/small_dump_plant.hpp"
#include "support/catch.hpp"

using namespace drift;
using namespace drift::test;

namespace {

// The dump in the shape of the small ones: the same brute force surveys it.
SmallDump dump_of(const DumpFile& file, float temperature) {
  SmallDump out;
  const TensorInfo& logits = *file.find("logits");
  out.padded = logits.shape.back();
  out.vocab = std::stoll(file.metadata().at("real_vocab_size"));
  out.sequence = logits.shape[logits.shape.size() - 2];
  out.batch = logits.shape.size() == 3 ? logits.shape[0] : 1;
  out.temperature = temperature;
  out.dtype = logits.dtype;
  std::vector<std::byte> row(at(out.padded * bytes(out.dtype)));
  for (std::int64_t r = 0; r < out.rows(); ++r) {
    file.read(logits.offset + r * static_cast<std::int64_t>(row.size()), row);
    out.logits.emplace_back(at(out.padded));
    widen(out.dtype, row, out.logits.back());
  }
  out.targets = read_integers(file, *file.find("targets"));
  out.use = read_mask(file, *file.find("mask"));
  return out;
}

}  // namespace

TEST_CASE("explain: real dumps' recorded tensors are named right") {
  const char* folder = std::getenv("DRIFT_TEST_DATA");
  if (!folder) {
    WARN("SKIPPED: DRIFT_TEST_DATA names no folder with the full dumps");
    return;
  }
  for (const std::string name : {"rollout-t0.7", "rollout-t1.0", "rollout-fp32"}) {
    const float t = name == "rollout-t0.7" ? 0.7f : 1.0f;
    const DumpFile file = DumpFile::open(std::string(folder) + "/" + name + ".safetensors");
    const DumpFile expected = DumpFile::open(std::string(folder) + "/" + name + ".expected.safetensors");
    const SmallDump dump = dump_of(file, t);
    const Survey survey = survey_of(dump, std::vector<float>(at(dump.rows()), 0.0f));
    const bool is_bf16 = dump.dtype == Dtype::BF16;
    const auto check = [&](const DumpFile& from, const std::string& tensor, const std::string& wanted) {
      const Explanation e = explain(survey, read_floats(from, *from.find(tensor)));
      INFO(name << " " << tensor << ": " << e.sentence);
      std::string said;
      for (const Candidate& best : e.best) {
        if (!said.empty()) said += " | ";
        for (const Cause& cause : best.causes)
          said += (said.empty() || said.ends_with(" ") ? "" : "+") + cause.id;
      }
      if (e.finding == Finding::exact || e.finding == Finding::formula_order) said = "right";
      if (e.finding == Finding::noise) said = "noise";
      if (wanted == "noise") {
        CHECK((said == "noise" || said == "right"));  // fp32 order is noise as well, of the smallest kind
        CHECK(e.sentence.find("sigma") != std::string::npos);
      } else {
        CHECK(said == wanted);
      }
      if (std::getenv("DRIFT_TEST_SAY")) WARN(name << " " << tensor << ": " << e.sentence);
    };
    check(expected, "logprobs_sampler", "right");
    check(expected, "logprobs_v2_fp32", "right");
    check(expected, "logprobs_bf16_temperature", t != 1.0f ? "temperature_native" : "right");
    check(expected, "logprobs_bf16_log_softmax",
          !is_bf16    ? "right"
          : t == 1.0f ? "output_bf16"
                      : "temperature_native+output_bf16");
    check(expected, "logprobs_padded_not_masked", "padding_in_lse");
    check(file, "rollout_logprobs", "noise");
  }
}
