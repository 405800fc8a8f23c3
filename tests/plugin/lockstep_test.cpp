// TP ranks that do not call the same collectives: an error with the plug-in's name on every rank, before
// anything is exchanged that does not belong together.

#include <new>
#include <optional>
#include <stdexcept>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "plugin/named_errors.hpp"
#include "plugin/plugin_run.hpp"

using namespace drift;
using namespace drift::test;

namespace {

void check_out_of_step(const std::string& stem, int tp, const std::vector<std::string>& texts) {
  const auto met = met_by_ranks(*load_plugin(faulty_plugin(stem)), tp);
  for (const auto& one : met) {
    INFO(stem);
    REQUIRE(one);
    INFO(one->text);
    CHECK(one->fault == Fault::comm);
    CHECK(one->text == met[0]->text);
    for (const std::string& text : texts) CHECK(one->text.find(text) != std::string::npos);
  }
}

}  // namespace

TEST_CASE("plug-in: TP ranks that do not call the same collectives all say what each was about to do") {
  check_out_of_step("skips_collectives", 2,
                    {"plug-in skips-collectives does not call the same", "step 1 of its call",
                     "all_reduce_max of 6 values on TP rank 0 and the end of its call on TP rank 1"});
  check_out_of_step("skips_collectives", 4, {"the end of its call on TP rank 3"});
  check_out_of_step("one_more_collective", 2,
                    {"plug-in one-more-collective", "step 3 of its call",
                     "the end of its call on TP rank 0 and all_gather of 4 bytes on TP rank 1"});
  check_out_of_step(
      "sizes_differ", 2,
      {"plug-in sizes-differ", "all_reduce_max of 8 values on TP rank 0 and all_reduce_max of 4"});
  check_out_of_step("kinds_differ", 2,
                    {"plug-in kinds-differ",
                     "all_reduce_max of 8 values on TP rank 0 and all_reduce_sum of 8 values on TP rank 1"});
}

TEST_CASE("plug-in: alone it may call what it likes") {
  for (const char* stem : {"skips_collectives", "kinds_differ", "sizes_differ"})
    CHECK_FALSE(met_by_ranks(*load_plugin(faulty_plugin(stem)), 1)[0]);
}

TEST_CASE("name_errors: faults stay, names are given once, interruptions keep their type") {
  const auto met = [](const std::function<void()>& body) -> Met {
    try {
      name_errors("plug-in x", body);
    } catch (const Interrupted& error) {
      return {error.fault(), error.what(), true};
    } catch (const Error& error) {
      return {error.fault(), error.what(), false};
    }
    return {Fault::usage, "nothing", false};
  };
  const Met late = met([] { throw Error(Fault::timeout, "rank 3 is silent"); });
  CHECK(late.fault == Fault::timeout);
  CHECK(late.text == "plug-in x: rank 3 is silent");
  CHECK(met([] { throw Error(Fault::comm, "plug-in x does"); }).text == "plug-in x does");
  const Met interrupted = met([] { throw Interrupted(); });
  CHECK(interrupted.was_interrupted);
  CHECK(interrupted.text == Interrupted().what());
  CHECK(met([] { throw std::bad_alloc(); }).fault == Fault::device);
  CHECK(met([] { throw std::runtime_error("odd"); }).fault == Fault::internal);
  CHECK(met([] {}).text == "nothing");
}
