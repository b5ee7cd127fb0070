// The main() of every unit test executable, compiled once.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
