// A state directory of a test's own.
#pragma once

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace test {

struct Directory {
  Directory() {
    char name[] = "/tmp/softmrc-control-test-XXXXXX";
    REQUIRE(mkdtemp(name));
    path = std::string(name) + "/state";
  }
  ~Directory() { std::filesystem::remove_all(std::filesystem::path(path).parent_path()); }
  std::string path;
};

}  // namespace test
