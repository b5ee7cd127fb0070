// Modes, sizes and rates as users write them; and which belong together.
#include "mrc-pmd/traffic.h"

#include <catch2/catch.hpp>

using namespace softmrc;
using namespace softmrc::apps::pmd;
using namespace std::chrono_literals;

TEST_CASE("every mode has a name, and a counterpart that has this one for its own") {
  for (const char* text : {"txonly", "rxonly", "pingpong", "bidir", "allpairs"}) {
    const auto mode = parse_mode(text);
    REQUIRE(mode);
    CHECK(std::string(name(*mode)) == text);
    CHECK(counterpart(counterpart(*mode)) == *mode);
  }
  CHECK(counterpart(Mode::kTransmit) == Mode::kReceive);
  CHECK(counterpart(Mode::kBidirectional) == Mode::kBidirectional);
  CHECK_FALSE(parse_mode("io"));
}

TEST_CASE("rates: powers of 1000, of all QPs or of each") {
  CHECK(parse_rate_limit("10G") == RateLimit{10'000'000'000, false});
  CHECK(parse_rate_limit("1.5M/qp") == RateLimit{1'500'000, true});
  CHECK(parse_rate_limit("800") == RateLimit{800, false});
  CHECK(parse_rate_limit("0") == RateLimit{});
  CHECK(parse_rate_limit("off") == RateLimit{});
  for (const char* wrong : {"", "fast", "-1G", "1G/port", "1X", "1e9", "1GG", "1000T"})
    CHECK_FALSE(parse_rate_limit(wrong));
  CHECK(to_text(RateLimit{}) == "off");
  CHECK(to_text({1'500'000'000, true}) == "1.500 Gb/s of payload per QP");
}

TEST_CASE("sizes: at least a byte, at most a message") {
  CHECK(parse_sizes("64,4K") == std::vector<uint64_t>{64, 4096});
  CHECK(parse_sizes("4294967295"));
  for (const char* wrong : {"", "0", "4G", "64,", "64,0", "big"}) CHECK_FALSE(parse_sizes(wrong));
}

TEST_CASE("several sizes need a duration, where there is sending") {
  Traffic traffic;
  CHECK(contradiction(traffic).empty());
  traffic.sizes = {64, 128};
  CHECK(contradiction(traffic).find("duration") != std::string::npos);
  traffic.duration = 1s;
  CHECK(contradiction(traffic).empty());
  traffic.duration = 0s;
  traffic.mode = Mode::kReceive;
  CHECK(contradiction(traffic).empty());
}
