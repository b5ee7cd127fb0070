// The transition table of EV states: as the file beside this one holds it, and looked up.
#include "path/ev_state.h"

#include <catch2/catch.hpp>
#include <string>

#include "../snapshot.h"

namespace softmrc::path {
namespace {

TEST_CASE("EV states: every event in every state") {
  std::string text;
  for (size_t s = 0; s < kEvStateCount; ++s) {
    const auto from = static_cast<EvState>(s);
    text += std::string(name(from)) + "\n";
    for (size_t e = 0; e < kEvEventCount; ++e) {
      const auto event = static_cast<EvEvent>(e);
      const auto to = transition(from, event);
      text += std::string("  ") + name(event) + ": " + (to ? name(*to) : "stays") + "\n";
    }
  }
  test::check_snapshot(SOFTMRC_SNAPSHOT_DIR "/ev_state.txt", text);
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

TEST_CASE("values that are no state and no event have a name too") {
  CHECK(std::string(name(static_cast<EvState>(4))) == "?");
  CHECK(std::string(name(static_cast<EvEvent>(9))) == "?");
}

}  // namespace
}  // namespace softmrc::path
