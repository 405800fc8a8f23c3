// Every file of the corpus of malformed and odd files gets its verdict, and every refusal says what is wrong.

#include <fstream>
#include <map>
#include <sstream>

#include "dump/dump_file.hpp"
#include "scratch.hpp"

namespace drift {
namespace {

const std::string folder = DRIFT_SOURCE_DIR "/tests/data/safetensors/";

/// A piece of the message that tells this mistake from the others.
const std::map<std::string, std::string> reasons{
    {"empty_file", "0 bytes, wanted at least the 8"},
    {"7_bytes", "7 bytes, wanted at least the 8"},
    {"n60_no_header", "length is 60 bytes, but only 0 follow"},
    {"n_u64max", "length is 18446744073709551615 bytes, wanted at most 100000000"},
    {"n_cap_plus1", "length is 100000001 bytes, wanted at most 100000000"},
    {"n_cap_short_file", "length is 100000000 bytes, but only"},
    {"n_minus1", "not valid JSON"},
    {"n_big_endian", "wanted at most 100000000"},
    {"bom", "byte order mark"},
    {"garbage_after_json", "not valid JSON"},
    {"two_objects", "not valid JSON"},
    {"hdr_array", "the header is a list"},
    {"hdr_null", "the header is null"},
    {"hdr_num", "the header is 1"},
    {"hdr_str", "the header is the text \"s\""},
    {"hdr_squote", "not valid JSON"},
    {"empty_obj_trailing1", "bytes are left over"},
    {"deep_nest_metadata", "__metadata__: \"a\" is an object"},
    {"bad_utf8_name", "not valid JSON"},
    {"overlong_utf8", "not valid JSON"},
    {"lone_surrogate_escape", "not valid JSON"},
    {"nul_escape_name", "\"a\\x00b\": its name holds a NUL"},
    {"dup_name_identical", "the key \"a\" stands twice in the header"},
    {"dup_name_diff_dtype_same_range", "the key \"a\" stands twice in the header"},
    {"dup_metadata", "the key \"__metadata__\" stands twice in the header"},
    {"dup_metadata_inner_key", "stands twice in __metadata__"},
    {"dup_field_dtype", "the key \"dtype\" stands twice in tensor \"a\""},
    {"metadata_nested", "is an object, wanted a text"},
    {"metadata_array", "__metadata__ is a list"},
    {"metadata_string", "__metadata__ is the text \"s\""},
    {"metadata_tensor", "is a list, wanted a text"},
    {"missing_data_offsets", "tensor \"a\": has no field \"data_offsets\""},
    {"missing_dtype", "tensor \"a\": has no field \"dtype\""},
    {"missing_shape", "tensor \"a\": has no field \"shape\""},
    {"info_as_array", "tensor \"a\" is a list, wanted an object"},
    {"dtype_unknown", "dtype is \"BF32\", wanted one of BOOL"},
    {"dtype_lower", "dtype is \"bf16\", wanted one of BOOL"},
    {"dtype_null", "dtype is null, wanted a text"},
    {"dtype_map", "dtype is an object, wanted a text"},
    {"dtype_emptystr", "dtype is \"\", wanted one of BOOL"},
    {"shape_neg", "a dimension of its shape is -1, wanted plain digits"},
    {"shape_float", "a dimension of its shape is 1.0, wanted plain digits"},
    {"shape_exp", "a dimension of its shape is 1e0, wanted plain digits"},
    {"shape_str", "a dimension of its shape is the text \"1\", wanted plain digits"},
    {"shape_null", "shape is null, wanted a list"},
    {"shape_nulldim", "a dimension of its shape is null, wanted plain digits"},
    {"shape_nested", "a dimension of its shape is a list, wanted plain digits"},
    {"shape_negzero", "a dimension of its shape is -0, wanted plain digits"},
    {"shape_nan", "not valid JSON"},
    {"shape_inf", "not valid JSON"},
    {"shape_scalar", "shape is 1, wanted a list"},
    {"shape_true", "a dimension of its shape is true, wanted plain digits"},
    {"off_len1", "data_offsets has 1 numbers, wanted 2"},
    {"off_len0", "data_offsets has 0 numbers, wanted 2"},
    {"off_neg", "one of its data_offsets is -4, wanted plain digits"},
    {"off_float", "one of its data_offsets is 0.0, wanted plain digits"},
    {"off_exp", "one of its data_offsets is 4e0, wanted plain digits"},
    {"off_str", "one of its data_offsets is the text \"0\", wanted plain digits"},
    {"off_null", "data_offsets is null, wanted a list"},
    {"off_obj", "data_offsets is an object, wanted a list"},
    {"off_gt_u64", "one of its data_offsets is 1"},
    {"begin_gt_end", "end before they begin"},
    {"begin_gt_end_2", "end before they begin"},
    {"end_past_eof", "the file is cut short"},
    {"truncated_1B", "the file is cut short"},
    {"trailing_1B", "bytes are left over after the last tensor"},
    {"overlap_partial", "the two overlap"},
    {"contained", "the two overlap"},
    {"hole_at_start", "a hole of unnamed bytes"},
    {"shape_small_vs_range", "bytes, wanted"},
    {"shape_large_vs_range", "bytes, wanted"},
    {"shape_mul_overflow", "a dimension of its shape is 18446744073709551614, wanted at most 2^63 - 1"},
    {"wraps_to_valid_size_2p32sq", "does not fit 64 bits"},
    {"bits_wrap_2p61_u8", "does not fit 64 bits"},
    {"zero_then_overflow", "a dimension of its shape is 9223372036854775808"},
    {"overflow_then_zero", "tensor \"a\":"},
    {"off_2p60_u8", "the file is cut short"},
    {"f6_bad3", "is 18 bits, wanted a multiple of 8"},
    {"zero_size_inside_other", "begins at byte"},
    {"100k_dims_of_1", "its shape has more than 8 dimensions"},
    {"attack_alias_10k", "the two overlap"},
};

TEST_CASE("corpus: every file gets its verdict, every refusal its reason") {
  std::ifstream verdicts(folder + "verdicts.tsv");
  REQUIRE(verdicts.good());
  std::string line;
  std::getline(verdicts, line);  // the columns' names
  int accepted = 0, refused = 0;
  while (std::getline(verdicts, line)) {
    std::istringstream fields(line);
    std::string file, parser, reason, expected;
    std::getline(fields, file, '\t');
    std::getline(fields, parser, '\t');
    std::getline(fields, reason, '\t');
    std::getline(fields, expected, '\t');
    INFO(line);
    const std::string path = folder + file, stem = file.substr(0, file.rfind('.'));
    if (expected.starts_with("accept")) {
      ++accepted;
      CHECK_NOTHROW(DumpFile::open(path));
      continue;
    }
    REQUIRE(expected.starts_with("reject"));
    ++refused;
    const Error error = error_of([&] { DumpFile::open(path); });
    INFO(error.what());
    CHECK(error.fault() == Fault::input);
    CHECK(std::string_view(error.what()).starts_with(path + ": "));
    REQUIRE(reasons.contains(stem));
    CHECK(contains(error.what(), reasons.at(stem)));
  }
  CHECK(accepted == 24);
  CHECK(refused == static_cast<int>(reasons.size()));
}

TEST_CASE("corpus: what is legal but odd is a warning") {
  const auto warnings = [](const std::string& stem) {
    return DumpFile::open(folder + stem + ".safetensors").warnings();
  };
  CHECK(warnings("ok_control").empty());
  CHECK(warnings("trailing_ws").empty());
  REQUIRE(warnings("leading_ws").size() == 1);
  CHECK(contains(warnings("leading_ws")[0], "white space"));
  REQUIRE(warnings("metadata_null").size() == 1);
  CHECK(contains(warnings("metadata_null")[0], "__metadata__ is null"));
}

}  // namespace
}  // namespace drift
