// Metadata: strict values, contradictions, and sampling that would need another log-prob.

#include "dump/facts.hpp"

#include <array>

#include "dump/dump_writer.hpp"
#include "scratch.hpp"

namespace drift {
namespace {

DumpFile with(const Scratch& scratch, const Metadata& metadata) {
  static constexpr std::array<float, 10> values{};
  const std::array<TensorData, 1> tensors{
      TensorData{"logits", Dtype::F32, {2, 5}, std::as_bytes(std::span(values))}};
  write_dump(scratch.path("d"), tensors, metadata);
  return DumpFile::open(scratch.path("d"));
}

std::string refusal(const Scratch& scratch, const Metadata& metadata) {
  const DumpFile dump = with(scratch, metadata);
  Roles roles;
  roles.logits = dump.tensors()[0];
  roles.padded_vocab = 5;
  const Error error = error_of([&] {
    DumpFacts facts = read_facts(dump);
    check_facts(dump, facts, roles);
  });
  CHECK(error.fault() == Fault::input);
  return error.what();
}

TEST_CASE("facts: what is there is read, all else stays empty") {
  const Scratch scratch;
  const DumpFacts none = read_facts(with(scratch, {{"note", "top secret"}}));
  CHECK_FALSE(none.temperature.has_value());
  CHECK_FALSE(none.real_vocab_size.has_value());
  CHECK_FALSE(none.cp_layout.has_value());
  const DumpFile dump = with(scratch, {{"temperature", "0.7"},
                                       {"real_vocab_size", "4"},
                                       {"padded_vocab_size", "5"},
                                       {"ignore_index", "-100"},
                                       {"cp_layout", "zigzag"},
                                       {"tp_size", "4"},
                                       {"tp_rank", "1"},
                                       {"top_k", "-1"},
                                       {"top_p", "1.0"},
                                       {"min_p", "0"}});
  const DumpFacts facts = read_facts(dump);
  CHECK(facts.temperature == 0.7);
  CHECK(facts.real_vocab_size == 4);
  CHECK(facts.padded_vocab_size == 5);
  CHECK(facts.ignore_index == -100);
  CHECK(facts.cp_layout == "zigzag");
  CHECK(facts.tp_size == 4);
  REQUIRE(facts.warnings.size() == 1);
  CHECK(contains(facts.warnings[0], "tp rank 1 of 4"));
}

TEST_CASE("facts: a value that is not what its key needs is refused") {
  const Scratch scratch;
  for (const std::string value : {"", "0", "-0.5", "inf", "nan", "0.7x", " 0.7", "0,7", "1e999", "hot"})
    CHECK(contains(refusal(scratch, {{"temperature", value}}), "wanted a finite number above 0"));
  for (const std::string value : {"", "0", "-4", "4.0", "4e0", "0x4", "99999999999999999999"})
    CHECK(contains(refusal(scratch, {{"real_vocab_size", value}}), "wanted a whole number of at least 1"));
  CHECK(contains(refusal(scratch, {{"cp_layout", "ring"}}), "wanted contiguous or zigzag"));
  CHECK(contains(refusal(scratch, {{"tp_size", "2"}, {"tp_rank", "2"}}), "below tp_size 2"));
  CHECK(contains(refusal(scratch, {{"top_p", "None"}}), "wanted a number"));
}

TEST_CASE("facts: contradictions with the logits are refused") {
  const Scratch scratch;
  CHECK(contains(refusal(scratch, {{"padded_vocab_size", "6"}}),
                 "seen 6, wanted 5, the last dimension of logits"));
  CHECK(contains(refusal(scratch, {{"real_vocab_size", "6"}}), "seen 6, wanted at most 5"));
  CHECK(contains(refusal(scratch, {{"real_vocab_size", "6"}, {"padded_vocab_size", "5"}}),
                 "at most padded_vocab_size 5"));
  CHECK(
      contains(refusal(scratch, {{"vocab_start", "5"}, {"vocab_end", "10"}}), "one shard of the vocabulary"));
  CHECK(
      contains(refusal(scratch, {{"vocab_start", "0"}, {"vocab_end", "4"}}), "one shard of the vocabulary"));
}

TEST_CASE("facts: a wrong value that the command line replaces is a warning, and is not used") {
  const Scratch scratch;
  const DumpFile dump =
      with(scratch,
           {{"temperature", "hot"}, {"real_vocab_size", "-3"}, {"cp_layout", "ring"}, {"ignore_index", "x"}});
  const DumpFacts facts = read_facts(dump, {"temperature", "real_vocab_size", "cp_layout", "ignore_index"});
  CHECK_FALSE(facts.temperature.has_value());
  CHECK_FALSE(facts.real_vocab_size.has_value());
  CHECK_FALSE(facts.cp_layout.has_value());
  CHECK_FALSE(facts.ignore_index.has_value());
  REQUIRE(facts.warnings.size() == 4);
  CHECK(contains(facts.warnings[0], "\"temperature\": seen \"hot\""));
  CHECK(contains(facts.warnings[0], "the command line says another"));
  CHECK(error_of([&] {
          read_facts(dump, {"temperature", "cp_layout", "ignore_index"});
        }).fault() == Fault::input);

  // Contradictions with the other size and with the logits likewise.
  CHECK(read_facts(with(scratch, {{"real_vocab_size", "6"}, {"padded_vocab_size", "5"}}), {"real_vocab_size"})
            .warnings.size() == 1);
  const DumpFile wide = with(scratch, {{"real_vocab_size", "6"}});
  Roles roles;
  roles.logits = wide.tensors()[0];
  roles.padded_vocab = 5;
  DumpFacts six = read_facts(wide, {"real_vocab_size"});
  check_facts(wide, six, roles, {"real_vocab_size"});
  CHECK_FALSE(six.real_vocab_size.has_value());
  CHECK(six.warnings.size() == 1);
}

TEST_CASE("facts: sizes of the vocabulary under their other names") {
  const Scratch scratch;
  const DumpFacts facts = read_facts(with(scratch, {{"real_vocab", "4"}, {"padded_vocab", "5"}}));
  CHECK(facts.real_vocab_size == 4);
  CHECK(facts.padded_vocab_size == 5);
  CHECK(facts.warnings.empty());
  CHECK(read_facts(with(scratch, {{"real_vocab", "4"}, {"real_vocab_size", "4"}})).real_vocab_size == 4);
  CHECK(contains(refusal(scratch, {{"real_vocab", "3"}, {"real_vocab_size", "4"}}),
                 "\"real_vocab\": seen 3, but real_vocab_size says 4"));
  CHECK(contains(refusal(scratch, {{"padded_vocab", "4"}, {"padded_vocab_size", "5"}}), "says 5"));
  CHECK(contains(refusal(scratch, {{"padded_vocab", "6"}}), "wanted 5, the last dimension of logits"));

  const DumpFacts unclear = read_facts(with(scratch, {{"vocab_size", "4"}}));
  CHECK_FALSE(unclear.real_vocab_size.has_value());
  REQUIRE(unclear.warnings.size() == 1);
  CHECK(contains(unclear.warnings[0], "\"vocab_size\" \"4\" is not used"));
  CHECK(read_facts(with(scratch, {{"vocab_size", "4"}, {"real_vocab_size", "4"}})).warnings.empty());
}

TEST_CASE("facts: what a sampler kept, and whether log-probs are over it") {
  const Scratch scratch;
  const DumpFacts facts = read_facts(
      with(scratch,
           {{"top_k", "50"}, {"top_p", "0.95"}, {"min_p", "0.05"}, {"logprob_mode", "processed_logprobs"}}));
  CHECK(facts.top_k == 50);
  CHECK(facts.top_p == 0.95);
  CHECK(facts.min_p == 0.05);
  CHECK(facts.logprob_mode == "processed");
  CHECK(read_facts(with(scratch, {{"logprobs_mode", "raw_logprobs"}})).logprob_mode == "raw");
  CHECK_FALSE(read_facts(with(scratch, {{"note", "none"}})).logprob_mode.has_value());
  for (const std::string value : {"0", "1.5", "-0.1", "nan", "None"})
    CHECK(contains(refusal(scratch, {{"top_p", value}}), "wanted a number above 0 and at most 1"));
  for (const std::string value : {"1", "-0.1", "inf"})
    CHECK(contains(refusal(scratch, {{"min_p", value}}), "wanted a number from 0 to below 1"));
  CHECK(contains(refusal(scratch, {{"top_k", "-2"}}), "wanted a whole number of at least -1"));
  CHECK(contains(refusal(scratch, {{"logprob_mode", "logits"}}), "wanted raw, processed"));
}

}  // namespace
}  // namespace drift
