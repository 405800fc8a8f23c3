// Catch2's main. With Catch2 3 the library brings its own, which this one replaces.
#define CATCH_CONFIG_RUNNER
#include "support/catch.hpp"

int main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
