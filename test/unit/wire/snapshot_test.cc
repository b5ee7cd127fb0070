// The opcodes and what each means, and the outcomes, whose names are those of exported counters: as
// the files beside this one hold them.
#include <catch2/catch.hpp>
#include <cstdio>
#include <string>

#include "../snapshot.h"
#include "wire/layout.h"
#include "wire/outcome.h"
#include "wire/packet.h"

namespace softmrc::wire {
namespace {

void compare(const char* file, const std::string& text) {
  softmrc::test::check_snapshot(std::string(SOFTMRC_SNAPSHOT_DIR "/") + file, text);
}

TEST_CASE("opcodes: name, extension headers, place in a message") {
  std::string text;
  for (unsigned value = 0; value <= 0xFF; ++value) {
    const auto op = static_cast<Opcode>(value);
    if (!is_mrc(op)) {
      CHECK(std::string(name(op)) == "UNKNOWN");
      continue;
    }
    char line[120];
    std::snprintf(line, sizeof line, "0x%02X %-14s %2zu bytes, %2zu with TS%s%s%s%s\n", value,
                  name(op), extension_size({.opcode = op}),
                  extension_size({.opcode = op, .timestamp = true}), is_write(op) ? ", write" : "",
                  starts_message(op) ? ", starts" : "", ends_message(op) ? ", ends" : "",
                  has_immediate(op) ? ", immediate" : "");
    text += line;
  }
  compare("opcodes.txt", text);
}

TEST_CASE("outcomes: every name, and which are drops") {
  std::string text;
  for (size_t i = 0; i < kOutcomeCount; ++i) {
    const auto outcome = static_cast<Outcome>(i);
    text += std::string(name(outcome)) + (is_drop(outcome) ? " (drop)\n" : "\n");
  }
  CHECK(std::string(name(static_cast<Outcome>(kOutcomeCount))) == "unknown");
  compare("outcomes.txt", text);
}

}  // namespace
}  // namespace softmrc::wire
