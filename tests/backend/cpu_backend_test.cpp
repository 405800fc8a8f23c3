#include "backend/cpu_backend.hpp"

#include <cstring>
#include <limits>
#include <string>

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace drift;

TEST_CASE("cpu_backend: its memory is the host's, aligned, and copies keep bytes") {
  const auto on = make_cpu_backend();
  CHECK(on->name() == "cpu");
  CHECK(on->device_uuid().empty());
  CHECK_FALSE(on->device_model().empty());
  CHECK(on->host_memory());
  CHECK(on->native_stream() == nullptr);
  Buffer a = on->allocate(100), b = on->allocate(100), none = on->allocate(0);
  CHECK(a.bytes() == 100);
  CHECK(reinterpret_cast<std::uintptr_t>(a.data()) % 64 == 0);
  const char text[] = "logits", *wanted = text;
  char back[sizeof text] = {};
  on->upload(text, a.data(), sizeof text);
  on->copy(a.data(), b.data(), sizeof text);
  on->copy(b.data(), b.data(), sizeof text);
  on->download(b.data(), back, sizeof text);
  CHECK(std::strcmp(back, wanted) == 0);
  CHECK(on->make_resident(a, 100, none) == a.data());
}

TEST_CASE("cpu_backend: memory that cannot be had is the device's fault, and says how much was asked for") {
  const auto on = make_cpu_backend();
  const std::int64_t too_much = std::numeric_limits<std::int64_t>::max() / 2;
  try {
    on->allocate(too_much);
    FAIL("allocated more than there is");
  } catch (const Error& error) {
    CHECK(error.fault() == Fault::device);
    CHECK(std::string(error.what()).find(std::to_string(too_much)) != std::string::npos);
  }
}
