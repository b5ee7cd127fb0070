// When a poll lingers, and when it has done so too often (lib/verbs/linger.h).
#include "verbs/linger.h"

#include <catch2/catch.hpp>

using softmrc::verbs::Linger;

namespace {

// A program in ping-pong: each time it has a completion, data comes later.
struct Program {
  Linger linger;
  uint64_t background = 0;  // rounds of the background thread that found work
  bool begins() { return linger.begin(background); }
  void brought_by_background() {
    ++background;
    linger.data_placed();
  }
  // Lingers, with success each time, until it may not: how often.
  uint32_t lingers_with_success() {
    uint32_t count = 0;
    while (begins()) {
      linger.data_placed();
      linger.end();
      ++count;
    }
    return count;
  }
};

}  // namespace

TEST_CASE("a program that never waited for data in memory is not held up") {
  Program program;
  CHECK_FALSE(program.begins());
  program.linger.data_placed();  // by a poll of its own
  CHECK_FALSE(program.begins());
  Linger linger;
  CHECK_FALSE(linger.begin(1));  // the background found an acknowledgement, say, and no data
  CHECK_FALSE(linger.begin(1));
}

TEST_CASE("data that the background brings grants lingers, more each time they pay") {
  Program program;
  for (uint32_t grant = Linger::kLeastGrant; grant <= Linger::kLargestGrant; grant *= 2) {
    program.brought_by_background();
    CHECK_FALSE(program.begins());  // what it waited for is there
    CHECK(program.lingers_with_success() == grant);
  }
  program.brought_by_background();
  CHECK_FALSE(program.begins());
  CHECK(program.lingers_with_success() == Linger::kLargestGrant);
}

TEST_CASE("one linger in vain ends a grant, and the next is small") {
  Program program;
  for (int grants = 0; grants < 3; ++grants) {
    program.brought_by_background();
    CHECK_FALSE(program.begins());
    program.lingers_with_success();
  }
  program.brought_by_background();
  CHECK_FALSE(program.begins());
  REQUIRE(program.begins());
  CHECK_FALSE(program.linger.data_came());
  program.linger.end();
  CHECK_FALSE(program.begins());
  program.brought_by_background();
  CHECK_FALSE(program.begins());
  CHECK(program.lingers_with_success() == Linger::kLeastGrant);
}

TEST_CASE("one thread lingers at a time, and data that came before the poll is not waited for") {
  Program program;
  program.brought_by_background();
  CHECK_FALSE(program.begins());
  REQUIRE(program.begins());
  CHECK_FALSE(program.begins());  // another thread
  program.linger.data_placed();
  CHECK(program.linger.data_came());
  program.linger.end();
  program.linger.data_placed();
  CHECK_FALSE(program.begins());
  CHECK(program.begins());
}
