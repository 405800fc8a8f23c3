// A file is whole or not there, and every failure says which and why.

#include "base/durable_file.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "../dump/scratch.hpp"

namespace drift {
namespace {

std::string content(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

TEST_CASE("durable_file: writes and replaces, and leaves nothing else behind") {
  const Scratch scratch;
  write_durably(scratch.path("f"), std::string_view("old"));
  write_durably(scratch.path("f"), std::string_view("newer"));
  CHECK(content(scratch.path("f")) == "newer");
  write_durably(scratch.path("empty"), std::string_view());
  CHECK(std::filesystem::file_size(scratch.path("empty")) == 0);
  { DurableFile abandoned(scratch.path("f")); }
  CHECK(content(scratch.path("f")) == "newer");
  CHECK(scratch.files() == 2);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  struct stat seen {};
  REQUIRE(::stat(scratch.path("f").c_str(), &seen) == 0);
  CHECK((seen.st_mode & 0777u) == (0666u & ~mask));
}

TEST_CASE("durable_file: a missing folder, a folder and a device are io errors") {
  const Scratch scratch;
  const auto error = [](const std::string& path) {
    return error_of([&] { write_durably(path, std::string_view("x")); });
  };
  CHECK(error(scratch.path("none/f")).fault() == Fault::io);
  CHECK(contains(error(scratch.path("none/f")).what(), "No such file or directory"));
  std::filesystem::create_directory(scratch.path("folder"));
  CHECK(contains(error(scratch.path("folder")).what(), "not a regular file"));
  CHECK(contains(error("/dev/full").what(), "not a regular file"));
  CHECK(scratch.files() == 1);
}

TEST_CASE("durable_file: a write that fails half way is an io error and leaves the old file") {
  const Scratch scratch;
  write_durably(scratch.path("f"), std::string_view("old"));
  struct rlimit before {};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);  // else the limit kills the process
  struct rlimit small = before;
  small.rlim_cur = 10000;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  std::string message;
  Fault fault = Fault::internal;
  try {
    write_durably(scratch.path("f"), std::string_view(std::string(20000, 'x')));
  } catch (const Error& error) {
    message = error.what();
    fault = error.fault();
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  CHECK(fault == Fault::io);
  CHECK(contains(message, "writing: File too large"));
  CHECK(content(scratch.path("f")) == "old");
  CHECK(scratch.files() == 1);
}

TEST_CASE("durable_file: more than the disk has free is refused before anything is written") {
  const Scratch scratch;
  DurableFile file(scratch.path("f"));
  CHECK_NOTHROW(file.need(0));
  const Error error = error_of([&] { file.need(INT64_MAX); });
  CHECK(error.fault() == Fault::io);
  CHECK(contains(error.what(), "bytes free, wanted 9223372036854775807"));
}

TEST_CASE("durable_file: a name with a line break is one line in messages") {
  const Error error = error_of([] { write_durably("/no such\nfolder/f", std::string_view("x")); });
  CHECK(contains(error.what(), "/no such\\x0afolder/f: cannot be written"));
  CHECK_FALSE(contains(error.what(), "\n"));
}

}  // namespace
}  // namespace drift
