// mrc-pmd's command line: what is DPDK's, what is ours, defaults, and mistakes that are refused.
#include "mrc-pmd/options.h"

#include <catch2/catch.hpp>

#include "../command_line.h"

using namespace softmrc;
using namespace softmrc::apps::pmd;
using namespace std::chrono_literals;

namespace {

ParsedCommandLine parse(const std::vector<std::string>& words) {
  return test::parse_words("mrc-pmd", words, parse_command_line);
}

Options accepted(const std::vector<std::string>& words) {
  const auto result = parse(words);
  REQUIRE(result.options);
  return *result.options;
}

}  // namespace

TEST_CASE("EAL arguments stand before the dashes") {
  const Options with = accepted({"-l", "0-3", "-n", "4", "--", "--loopback", "3", "-q", "2"});
  CHECK(with.eal_args == std::vector<std::string>{"-l", "0-3", "-n", "4"});
  CHECK(with.loopback == 3);
  CHECK(with.qps == 2);
  const Options without = accepted({"--loopback", "2"});
  CHECK(without.eal_args.empty());
  CHECK(without.loopback == 2);
}

TEST_CASE("who nobody is named to waits for one") {
  const Options waits = accepted({});
  CHECK(waits.listen == 1);
  CHECK(waits.peers.empty());
  CHECK(waits.config.filename() == "memif-a.yaml");
  const Options connects = accepted({"--peers", "a,b:7,c"});
  CHECK(connects.listen == 0);
  CHECK(connects.peers == std::vector<std::string>{"a", "b:7", "c"});
  CHECK(connects.config.filename() == "memif-b.yaml");
  const Options both = accepted({"--peer", "a", "--listen", "2"});
  CHECK(both.listen == 2);
  CHECK(both.peers.size() == 1);
}

TEST_CASE("traffic") {
  const Options o =
      accepted({"--mode", "bidir", "--sizes", "64,4K", "--duration", "2.5", "--burst", "8",
                "--rate", "1G/qp", "--planes", "1,3", "--evs", "16", "--verify"});
  CHECK(o.mode_given);
  CHECK(o.traffic.mode == Mode::kBidirectional);
  CHECK(o.traffic.sizes == std::vector<uint64_t>{64, 4096});
  CHECK(o.traffic.duration == 2500ms);
  CHECK(o.traffic.burst == 8);
  CHECK(o.traffic.rate == RateLimit{1'000'000'000, true});
  CHECK(o.planes == std::vector<uint8_t>{1, 3});
  CHECK(o.evs == 16u);
  CHECK(o.verify);
  CHECK_FALSE(o.stats_period);
  CHECK(accepted({"--stats-period", "0"}).stats_period == 0s);
  CHECK(accepted({"--loopback", "2"}).traffic.mode == Mode::kAllPairs);
}

TEST_CASE("mistakes are refused") {
  const std::vector<std::vector<std::string>> wrong{
      {"--bogus"},
      {"extra"},
      {"--sizes", "0"},
      {"--sizes", "64,4K"},  // and no duration
      {"--mode", "io"},
      {"--burst", "65"},
      {"--planes", "0"},
      {"--planes", "1,,2"},
      {"--rate", "fast"},
      {"--loopback", "1"},
      {"--loopback", "9"},
      {"--loopback", "2", "--peer", "a"},
      {"--loopback", "2", "--listen", "1"},
      {"--loopback", "2", "--pcap", "x"},
      {"--mode", "pingpong", "--verify"},
      {"--config", "/nonexistent.yaml"},
  };
  for (const auto& words : wrong) {
    INFO(words.front() << " " << words.back());
    const auto result = parse(words);
    CHECK_FALSE(result.options);
    CHECK(result.exit_status != 0);
  }
  const auto help = parse({"--help"});
  CHECK_FALSE(help.options);
  CHECK(help.exit_status == 0);
}
