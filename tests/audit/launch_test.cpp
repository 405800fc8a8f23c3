#include "audit/launch.hpp"

#include "audit/options.hpp"
#include "base/error.hpp"
#include "support/catch.hpp"

namespace drift {
namespace {

Config on(std::int64_t tp, std::int64_t cp) {
  Config config;
  config.dump = "my dump.safetensors";
  set_option(config, *find_option("tp"), std::vector{std::to_string(tp)});
  set_option(config, *find_option("cp"), std::vector{std::to_string(cp)});
  return config;
}

}  // namespace

TEST_CASE("launch: flags are there when mpirun would refuse without them, and only then") {
  using Flags = std::vector<std::string>;
  CHECK(launcher_flags({.root = false, .slots = 4}, 4) == Flags{});
  CHECK(launcher_flags({.root = true, .slots = 4}, 4) == Flags{"--allow-run-as-root"});
  CHECK(launcher_flags({.root = false, .slots = 2}, 4) == Flags{"--oversubscribe"});
  CHECK(launcher_flags({.root = false, .slots = 2, .oversubscribe_set = true}, 4) == Flags{});
  CHECK(launcher_flags({.root = true, .slots = 1}, 2) == Flags{"--allow-run-as-root", "--oversubscribe"});
}

TEST_CASE("launch: a printed line is quoted for a shell and names the program as it was typed") {
  const std::string line = launch_line(on(2, 2), {.program = "./build dir/drift-audit", .slots = 8});
  CHECK(line == "mpirun -np 4 './build dir/drift-audit' run 'my dump.safetensors' --tp 2 --cp 2");
}

TEST_CASE("launch: a wrong world is a usage error with both numbers and the right line") {
  CHECK_NOTHROW(check_world(on(2, 2), 4, {.slots = 8}));
  try {
    check_world(on(2, 2), 3, {.slots = 8});
    FAIL("3 ranks passed for 4");
  } catch (const Error& error) {
    CHECK(error.fault() == Fault::usage);
    CHECK(std::string(error.what()) ==
          "started with 3 ranks, but --tp 2 x --cp 2 wants 4: mpirun -np 4 drift-audit run 'my "
          "dump.safetensors' "
          "--tp 2 --cp 2");
  }
}

TEST_CASE("launch: a name that breaks the line cannot be printed as a line") {
  Config config = on(1, 1);
  config.dump = "a\nb";
  CHECK_THROWS_AS(launch_line(config, {}), Error);
  CHECK_NOTHROW(check_world(config, 1, {}));
  try {
    check_world(config, 2, {});
    FAIL("2 ranks passed for 1");
  } catch (const Error& error) {
    const std::string message = error.what();
    CHECK(message.rfind("started with 2 ranks, but --tp 1 x --cp 1 wants 1: no command line", 0) == 0);
    CHECK(message.find('\n') == std::string::npos);
  }
}

}  // namespace drift
