// The transition table of EV states, printed and compared row by row with the rule.
#include "path/ev_state.h"

#include <catch2/catch.hpp>
#include <string>

namespace softmrc::path {
namespace {

std::string print(std::span<const EvTransition> rows) {
  std::string text;
  for (const EvTransition& row : rows) {
    text += std::string(name(row.from)) + " --" + name(row.event) + "--> " + name(row.to) + "\n";
  }
  return text;
}

TEST_CASE("the transition table is the one of the protocol page") {
  const std::string table = print(ev_transitions());
  INFO(table);
  CHECK(table ==
        "GOOD --skip mark--> SKIP\n"
        "GOOD --trimmed--> SKIP\n"
        "GOOD --always-skip mark--> ASSUMED_BAD\n"
        "GOOD --loss--> ASSUMED_BAD\n"
        "GOOD --deny--> DENIED\n"
        "SKIP --end of rotation--> GOOD\n"
        "SKIP --always-skip mark--> ASSUMED_BAD\n"
        "SKIP --loss--> ASSUMED_BAD\n"
        "SKIP --deny--> DENIED\n"
        "SKIP --allow--> GOOD\n"
        "ASSUMED_BAD --probed healthy--> GOOD\n"
        "ASSUMED_BAD --probed marked--> SKIP\n"
        "ASSUMED_BAD --deny--> DENIED\n"
        "ASSUMED_BAD --allow--> GOOD\n"
        "DENIED --allow--> GOOD\n");
}

TEST_CASE("look-up agrees with the table, and a missing row is no transition") {
  for (size_t s = 0; s < kEvStateCount; ++s) {
    for (size_t e = 0; e < kEvEventCount; ++e) {
      const auto from = static_cast<EvState>(s);
      const auto event = static_cast<EvEvent>(e);
      size_t rows = 0;
      std::optional<EvState> expected;
      for (const EvTransition& row : ev_transitions()) {
        if (row.from != from || row.event != event) continue;
        expected = row.to;
        ++rows;
      }
      CAPTURE(name(from), name(event));
      CHECK(rows <= 1);
      CHECK(transition(from, event) == expected);
    }
  }
}

}  // namespace
}  // namespace softmrc::path
