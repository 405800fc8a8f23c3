#pragma once

// Catch2 2 (Debian 12) and 3 (Ubuntu 24.04): the one place that knows which.

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;  // Catch2 2 has it there already
#else
#include <catch2/catch.hpp>
#endif
