// What is typed at mrc-pmd's prompt: every command with what may stand behind it, and mistakes that
// are named.
#include "mrc-pmd/command.h"

#include <catch2/catch.hpp>

using namespace softmrc;
using namespace softmrc::apps::pmd;
using namespace std::chrono_literals;

namespace {

Command parsed(const char* line) {
  const auto result = parse_command(line);
  INFO(line << ": " << result.error);
  REQUIRE(result.command);
  return *result.command;
}

std::string refused(const char* line) {
  const auto result = parse_command(line);
  INFO(line);
  REQUIRE_FALSE(result.command);
  return result.error;
}

}  // namespace

TEST_CASE("commands with a number, with all, and with neither") {
  const Command one = parsed("show port stats 3");
  CHECK(one.verb == Verb::kShowPortStats);
  CHECK(one.number == 3u);
  CHECK_FALSE(one.all);
  CHECK(parsed("show port stats all").all);
  const Command none = parsed("  show   port stats ");
  CHECK(none.verb == Verb::kShowPortStats);
  CHECK_FALSE(none.number);
  CHECK_FALSE(none.all);
  CHECK(parsed("show qp 0x110010").number == 0x110010u);
  CHECK(parsed("show ev").verb == Verb::kShowEv);
  CHECK(parsed("port down 2").verb == Verb::kPortDown);
  CHECK(parsed("port up 2").number == 2u);
  CHECK(parsed("clear port stats").verb == Verb::kClearPortStats);
  CHECK(parsed("").verb == Verb::kNothing);
  CHECK(parsed("quit").verb == Verb::kQuit);
}

TEST_CASE("set takes what the options of the same name take") {
  CHECK(parsed("set size 64,4K,1M").sizes == std::vector<uint64_t>{64, 4096, 1 << 20});
  CHECK(parsed("set burst 64").number == 64u);
  CHECK(parsed("set rate 10G").rate == RateLimit{10'000'000'000, false});
  CHECK(parsed("set rate off").rate == RateLimit{});
  CHECK(parsed("set period 0.5").time == 500ms);
  CHECK(parsed("set duration 2s").time == 2s);
  CHECK(parsed("set mode pingpong").mode == Mode::kPingPong);
}

TEST_CASE("a mistake is named") {
  CHECK(refused("frobnicate the port") ==
        "unknown command \"frobnicate the port\"; help lists them");
  CHECK(refused("show").find("unknown command \"show\"") == 0);
  CHECK(refused("set size 64,x").find("\"64,x\" does not fit: set size SIZE") == 0);
  CHECK(refused("set size 0").find("does not fit") != std::string::npos);
  CHECK(refused("set burst 65").find("does not fit") != std::string::npos);
  CHECK(refused("set burst").find("something is missing: set burst N") == 0);
  CHECK(refused("port down").find("something is missing") == 0);
  CHECK(refused("port down 0").find("does not fit") != std::string::npos);
  CHECK(refused("show port stats 17").find("does not fit") != std::string::npos);
  CHECK(refused("show port stats 1 2").find("\"2\" does not fit") == 0);
  CHECK(refused("start now").find("\"now\" does not fit: start") == 0);
  CHECK(refused("set mode fast").find("does not fit") != std::string::npos);
}

TEST_CASE("help names every command that there is") {
  const std::string help = command_help();
  for (const char* words :
       {"show port stats", "show port info", "show qp", "show ev", "show config",
        "clear port stats", "start", "stop", "set size", "set burst", "set rate", "set period",
        "set duration", "set mode", "port up", "port down", "quit"})
    CHECK(help.find(words) != std::string::npos);
}
